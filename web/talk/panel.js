import { Conversation } from "./conversation.js";
import { LevelMeter } from "./meter.js";
import { MicrophoneError, openMicrophone } from "./microphone.js";
import { listAgents, openSession } from "./server.js";
import { Transcript } from "./transcript.js";

const AGENT_PATIENCE_MS = 10_000;
const STATES = {
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  waiting: "Waiting for the agent",
  initializing: "The agent is getting ready",
  idle: "Listening",
  listening: "Listening",
  thinking: "Thinking",
  speaking: "Speaking",
};
const ENDINGS = {
  "hung up": "You hung up.",
  "agent left": "The agent ended the conversation.",
  lost: "The connection was lost.",
};

/** The panel in which a visitor talks or types to an agent. */
export class TalkPanel {
  #root;
  #transcript;
  #meters;
  #conversation;
  #audio;
  #agentIsLate;
  #typedLines = 0;

  constructor(root) {
    this.#root = root;
    this.#transcript = new Transcript(this.#find("transcript"));
    this.#meters = {
      you: new LevelMeter(this.#find("meter-you")),
      agent: new LevelMeter(this.#find("meter-agent")),
    };
  }

  async open() {
    this.#on("start", "submit", () => this.#start("voice"));
    this.#on("start-text", "click", () => this.#start("text"));
    this.#on("hang-up", "click", () => this.#conversation?.hangUp());
    this.#on("mute", "click", () => this.#toggleMute());
    this.#on("composer", "submit", () => this.#send());
    await this.#fillPicker();
  }

  async #fillPicker() {
    try {
      const options = (await listAgents()).map(
        ({ agent_id, name }) => new Option(`${name} (${agent_id})`, agent_id),
      );
      this.#find("agent").replaceChildren(...options);
    } catch (error) {
      this.#alert(error.message, { label: "Try again", act: () => this.#fillPicker() });
    }
  }

  async #start(mode) {
    this.#alert(null);
    this.#transcript.clear();
    this.#root.dataset.mode = mode;
    this.#setPhase("connecting");
    this.#showState("connecting");
    this.#conversation = new Conversation(this.#listener());
    let microphone;
    try {
      if (mode === "voice") microphone = await this.#openSound();
      const invitation = await openSession(this.#find("agent").value, mode);
      this.#agentIsLate = setTimeout(() => this.#sayAgentIsLate(), AGENT_PATIENCE_MS);
      await this.#conversation.join(invitation, microphone);
      this.#setPhase("live");
      if (document.activeElement === document.body) this.#find("mute").focus(); // "Start" is gone
    } catch (error) {
      microphone?.stop();
      this.#failToStart(error);
    }
  }

  async #openSound() {
    // In the click, so that the browser lets them make a sound.
    this.#audio = new AudioContext();
    this.#conversation.allowSound();
    const microphone = await openMicrophone();
    this.#meters.you.follow(this.#audio, microphone.mediaStreamTrack);
    return microphone;
  }

  #listener() {
    return {
      onTranscript: (line) => this.#transcript.show(line),
      onAgentState: (state) => this.#showState(state),
      onReady: () => this.#agentIsReady(),
      onAgentAudio: (track) => this.#play(track),
      onSoundBlocked: (blocked) => this.#offerSound(blocked),
      onEnded: (why) => this.#end(why),
    };
  }

  #agentIsReady() {
    clearTimeout(this.#agentIsLate);
    const message = this.#find("message");
    message.disabled = this.#find("send").disabled = false;
    message.placeholder = "Write a message";
    if (this.#root.dataset.mode === "text") message.focus();
  }

  #sayAgentIsLate() {
    this.#transcript.note("No agent has come yet. Is the worker running? You can wait, or hang up.");
  }

  #play(track) {
    const element = track.attach();
    element.dataset.testid = "agent-audio";
    this.#find("speaker").replaceChildren(element);
    this.#meters.agent.follow(this.#audio, track.mediaStreamTrack);
  }

  #offerSound(blocked) {
    if (!blocked) return;
    this.#alert("The browser has blocked sound.", {
      label: "Turn on sound",
      act: () => this.#conversation?.allowSound(),
    });
  }

  async #send() {
    const message = this.#find("message");
    const text = message.value.trim();
    if (!text) return;
    message.value = "";
    message.focus();
    const id = `typed-${this.#typedLines++}`;
    this.#transcript.show({ id, speaker: "you", text, final: true, typed: true });
    try {
      await this.#conversation.write(text);
    } catch {
      this.#transcript.note("That message was not sent.");
      message.value ||= text;
    }
  }

  async #toggleMute() {
    const button = this.#find("mute");
    const muted = button.ariaPressed !== "true";
    await this.#conversation.setMuted(muted);
    this.#showMuted(muted);
  }

  #showMuted(muted) {
    const button = this.#find("mute");
    button.ariaPressed = String(muted);
    button.querySelector("span").textContent = muted ? "Unmute" : "Mute";
    button.querySelector("use").setAttribute("href", muted ? "#icon-mic-off" : "#icon-mic");
  }

  #failToStart(error) {
    this.#close("idle");
    if (error instanceof MicrophoneError) {
      this.#alert(`${error.message} You can type instead.`, {
        label: "Type instead",
        act: () => this.#start("text"),
      });
    } else {
      this.#alert(`The conversation could not start. ${error.message}`);
    }
  }

  #end(why) {
    if (this.#root.dataset.phase !== "live") return; // `join` itself reports what fails before
    this.#close("ended");
    this.#transcript.note(ENDINGS[why]);
    if (why === "lost") this.#alert("The connection was lost. You can start a new conversation.");
    this.#find("start-voice").focus();
  }

  #close(phase) {
    clearTimeout(this.#agentIsLate);
    this.#alert(null);
    this.#conversation = undefined;
    for (const meter of Object.values(this.#meters)) meter.stop();
    this.#audio?.close();
    this.#audio = undefined;
    this.#find("speaker").replaceChildren();
    const message = this.#find("message");
    message.disabled = this.#find("send").disabled = true;
    message.placeholder = "Start a conversation to write";
    this.#showMuted(false);
    this.#setPhase(phase);
  }

  #setPhase(phase) {
    this.#root.dataset.phase = phase;
    const talking = phase === "connecting" || phase === "live";
    this.#find("start").hidden = talking;
    this.#find("callbar").hidden = !talking;
    const silent = this.#root.dataset.mode === "text";
    this.#find("meters").hidden = this.#find("mute").hidden = silent;
    this.#find("hang-up").disabled = this.#find("mute").disabled = phase === "connecting";
  }

  #showState(state) {
    this.#root.dataset.agentState = state;
    this.#find("agent-state").textContent = STATES[state] ?? state;
  }

  #alert(text, action) {
    const alert = this.#find("talk-alert");
    const button = alert.querySelector("button");
    alert.hidden = text === null;
    alert.querySelector("p").textContent = text ?? "";
    button.hidden = !action;
    button.textContent = action?.label ?? "";
    button.onclick = () => {
      this.#alert(null);
      action.act();
    };
  }

  #on(id, event, act) {
    this.#find(id).addEventListener(event, (happening) => {
      happening.preventDefault();
      act();
    });
  }

  #find(id) {
    return this.#root.querySelector(`#${id}`);
  }
}
