import { keepingEndInView } from "../scroll.js";

/** The conversation as bubbles; a line that grows keeps its bubble. */
export class Transcript {
  #log;
  #lines = new Map();

  constructor(log) {
    this.#log = log;
  }

  clear() {
    this.#log.replaceChildren();
    this.#lines.clear();
  }

  /** Show a line, or what it has become. What is final stays as it is. */
  show({ id, speaker, text, final, typed = false }) {
    const words = text.trim();
    if (!words || this.#lines.get(id)?.dataset.final === "true") return;
    keepingEndInView(this.#log, () => {
      const line = this.#lines.get(id) ?? this.#add(id, speaker, typed);
      line.querySelector(".words").textContent = words;
      line.dataset.final = String(final);
      // Screen readers hear a line once, when it is whole.
      line.ariaBusy = String(!final);
    });
  }

  /** A remark of the page's own. */
  note(text) {
    keepingEndInView(this.#log, () => {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = text;
      this.#log.append(note);
    });
  }

  #add(id, speaker, typed) {
    const line = document.createElement("div");
    line.className = "bubble";
    line.dataset.speaker = speaker;
    line.dataset.testid = `line-${speaker}`;
    line.ariaBusy = "true";
    const name = document.createElement("span");
    name.className = "who";
    name.textContent = speaker === "agent" ? "Agent" : typed ? "You, typed" : "You";
    const words = document.createElement("p");
    words.className = "words";
    words.dir = "auto";
    line.append(name, words);
    this.#log.append(line);
    this.#lines.set(id, line);
    return line;
  }
}
