import { keepingEndInView } from "../scroll.js";

const CALLS = {
  1: { title: "First call", subtitle: "The agent rings a number" },
  2: { title: "Second call", subtitle: "The same number rings back" },
};
const LABELS = {
  dial: "Dialled",
  ring: "Ringing",
  answer: "Answered",
  agent_said: "Agent",
  caller_said: "Caller",
  memory: "Memory",
  stored: "Stored",
  log: "Log",
  check: "Expectation",
};

/** Both calls, step by step. */
export class Timeline {
  #root;
  #calls = new Map();

  constructor(root) {
    this.#root = root;
  }

  clear() {
    this.#root.replaceChildren();
    this.#calls.clear();
  }

  /** Show one event of the story. */
  show(event) {
    keepingEndInView(this.#root, () => this.#call(event.call).steps.append(step(event)));
  }

  /** Show what a phone heard. */
  showRecording({ url, title, call }) {
    const figure = make("figure", "recording");
    const player = make("audio");
    player.controls = true;
    player.preload = "metadata";
    player.src = url;
    player.ariaLabel = title;
    player.dataset.testid = "recording";
    figure.append(make("figcaption", "", title), player);
    this.#call(call).section.append(figure);
  }

  #call(number) {
    const known = this.#calls.get(number);
    if (known) return known;
    const { title, subtitle } = CALLS[number] ?? { title: `Call ${number}`, subtitle: "" };
    const section = make("section", "call");
    section.dataset.call = number;
    const heading = make("h3", "", title);
    heading.append(make("small", "", subtitle));
    const steps = make("ol", "steps");
    section.append(heading, steps);
    this.#root.append(section);
    const call = { section, steps };
    this.#calls.set(number, call);
    return call;
  }
}

function step({ at_s, kind, title, detail, ok }) {
  const item = make("li", "step");
  item.dataset.kind = kind;
  item.dataset.testid = `story-${kind}`;
  if (ok !== null) item.dataset.ok = ok;
  const body = make("div", "step-body");
  const label = ok === null ? LABELS[kind] : ok ? "Held" : "Missed";
  body.append(make("span", "step-label", label ?? kind), make("p", "step-title", title));
  body.append(make("span", "step-time", `${at_s.toFixed(2)} s`));
  // Why an expectation was missed is worth reading; what held repeats the step before it.
  if (detail && !ok) body.append(make("p", "step-detail", detail));
  for (const text of body.querySelectorAll("p")) text.dir = "auto";
  item.append(icon(iconOf(kind, ok)), body);
  return item;
}

function iconOf(kind, ok) {
  if (kind !== "check") return kind;
  return ok ? "held" : "missed";
}

function icon(name) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#icon-${name}`);
  drawing.append(use);
  drawing.setAttribute("aria-hidden", "true");
  return drawing;
}

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}
