import { keepingEndInView } from "../scroll.js";
import { story } from "./story.js";
import { Timeline } from "./timeline.js";

/** The panel that plays the story of a remembered caller. */
export class WatchPanel {
  #root;
  #timeline;
  #stopper;
  #clock;

  constructor(root) {
    this.#root = root;
    this.#timeline = new Timeline(this.#find("calls"));
  }

  open() {
    this.#find("play").addEventListener("click", () => {
      if (this.#stopper) this.#stopper.abort();
      else this.#play();
    });
  }

  async #play() {
    this.#begin();
    try {
      for await (const { type, data } of story(this.#stopper.signal)) this.#show(type, data);
      if (this.#root.dataset.phase === "playing") throw new Error("The story broke off.");
    } catch (error) {
      if (this.#stopper.signal.aborted) this.#finish("idle", "Stopped.");
      else this.#fail(error.message);
    }
    this.#stopper = undefined;
  }

  #begin() {
    this.#stopper = new AbortController();
    this.#timeline.clear();
    this.#find("preview").hidden = true;
    this.#find("verdict").hidden = true;
    this.#find("story-alert").hidden = true;
    this.#root.dataset.phase = "playing";
    this.#find("story-state").textContent = "Telling the story";
    this.#showButton("stop", "Stop");
    const began = performance.now();
    const tick = () => {
      const seconds = Math.floor((performance.now() - began) / 1000);
      this.#find("story-clock").textContent = `${seconds} s`;
    };
    tick();
    this.#clock = setInterval(tick, 1000);
  }

  #show(type, data) {
    if (type === "result") this.#showResult(data);
    else if (type === "failure") this.#fail(data.message);
    else if (data.kind !== "end") this.#timeline.show(data); // the verdict says how it ended
  }

  #showResult({ line, held, expected, recordings }) {
    const verdict = this.#find("verdict");
    keepingEndInView(this.#find("calls"), () => {
      for (const recording of recordings) this.#timeline.showRecording(recording);
      verdict.textContent = line;
      verdict.dataset.ok = held === expected;
      verdict.hidden = false;
    });
    this.#finish("told", "");
  }

  #fail(message) {
    const alert = this.#find("story-alert");
    alert.querySelector("p").textContent = message;
    alert.hidden = false;
    this.#finish("failed", "");
  }

  #finish(phase, words) {
    clearInterval(this.#clock);
    this.#find("story-clock").textContent = "";
    this.#root.dataset.phase = phase;
    this.#find("story-state").textContent = words;
    this.#showButton("play", phase === "told" ? "Play it again" : "Play the story");
  }

  #showButton(icon, label) {
    const button = this.#find("play");
    button.querySelector("use").setAttribute("href", `#icon-${icon}`);
    button.querySelector("span").textContent = label;
  }

  #find(id) {
    return this.#root.querySelector(`#${id}`);
  }
}
