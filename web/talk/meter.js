const BARS = 5;
const FALL_PER_FRAME = 0.04;
const QUIETEST_DB = -55;
const LOUDEST_DB = -12;

/** How loud a track is, drawn as bars; the level, 0 to 1, is also in `data-level`. */
export class LevelMeter {
  #element;
  #source;
  #frame;
  #level = 0;

  constructor(element) {
    this.#element = element;
    element.replaceChildren(...Array.from({ length: BARS }, () => document.createElement("i")));
    this.#draw(0);
  }

  /** Measure a MediaStreamTrack, until `stop` or another track. */
  follow(audioContext, mediaStreamTrack) {
    this.stop();
    const analyser = new AnalyserNode(audioContext, { fftSize: 1024 });
    this.#source = audioContext.createMediaStreamSource(new MediaStream([mediaStreamTrack]));
    this.#source.connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const measure = () => {
      analyser.getFloatTimeDomainData(samples);
      this.#draw(Math.max(loudness(samples), this.#level - FALL_PER_FRAME));
      this.#frame = requestAnimationFrame(measure);
    };
    measure();
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    this.#source?.disconnect();
    this.#source = undefined;
    this.#draw(0);
  }

  #draw(level) {
    this.#level = level;
    this.#element.dataset.level = level.toFixed(2);
    this.#element.style.setProperty("--level", level.toFixed(2));
  }
}

function loudness(samples) {
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  const db = 10 * Math.log10(power + 1e-12);
  return Math.min(1, Math.max(0, (db - QUIETEST_DB) / (LOUDEST_DB - QUIETEST_DB)));
}
