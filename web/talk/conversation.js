import { DisconnectReason, Room, RoomEvent, Track, setLogLevel } from "../vendor/livekit-client.mjs";

const CHAT_TOPIC = "lk.chat";
const TRANSCRIPTION_TOPIC = "lk.transcription";
const AGENT_STATE = "lk.agent.state";
const READY_STATES = new Set(["idle", "listening", "thinking", "speaking"]);

setLogLevel("warn");

/**
 * One conversation with an agent in a LiveKit room. Knows nothing of the page: it tells a listener
 *
 * - `onTranscript({id, speaker: "you" | "agent", text, final})`: a line, whole, each time it grows;
 * - `onAgentState(state)`: "waiting" | "initializing" | "idle" | "listening" | "thinking" |
 *   "speaking" | "reconnecting";
 * - `onReady()`: the agent reads what is written from now on;
 * - `onAgentAudio(track)`: the agent can be heard;
 * - `onSoundBlocked(blocked)`: the browser wants a click before it plays sound;
 * - `onEnded("hung up" | "agent left" | "lost")`: it is over, once.
 */
export class Conversation {
  #room = new Room({ stopLocalTrackOnUnpublish: true });
  #listener;
  #microphone;
  #isReady = false;
  #hasEnded = false;

  constructor(listener) {
    this.#listener = listener;
    this.#room
      .on(RoomEvent.ParticipantConnected, () => this.#showAgentState())
      .on(RoomEvent.ParticipantAttributesChanged, () => this.#showAgentState())
      .on(RoomEvent.ParticipantDisconnected, (who) => who.isAgent && this.#agentLeft())
      .on(RoomEvent.TrackSubscribed, (track, _publication, who) => who.isAgent && this.#hear(track))
      .on(RoomEvent.AudioPlaybackStatusChanged, () => this.#showSound())
      .on(RoomEvent.SignalReconnecting, () => listener.onAgentState("reconnecting"))
      .on(RoomEvent.Reconnecting, () => listener.onAgentState("reconnecting"))
      .on(RoomEvent.Reconnected, () => this.#showAgentState())
      .on(RoomEvent.Disconnected, (reason) => this.#disconnected(reason));
    this.#room.registerTextStreamHandler(TRANSCRIPTION_TOPIC, (reader, from) =>
      this.#transcribe(reader, from.identity),
    );
  }

  /** Join. With a microphone track the agent is heard; without one it only writes. */
  async join(invitation, microphone) {
    this.#microphone = microphone;
    try {
      await this.#room.connect(invitation.url, invitation.token, {
        // An agent waits with its words for somebody to hear them: what is meant to be heard must be.
        autoSubscribe: Boolean(microphone),
      });
    } catch (error) {
      throw new Error("The call server cannot be reached.", { cause: error });
    }
    if (microphone) {
      await this.#room.localParticipant.publishTrack(microphone, { source: Track.Source.Microphone });
    }
    if (this.#hasEnded) throw new Error("The agent ended it at once.");
    this.#showAgentState();
  }

  async write(text) {
    await this.#room.localParticipant.sendText(text, { topic: CHAT_TOPIC });
  }

  async setMuted(muted) {
    await this.#room.localParticipant.setMicrophoneEnabled(!muted);
  }

  /** Allow sound; call it in a click. */
  async allowSound() {
    await this.#room.startAudio();
  }

  async hangUp() {
    await this.#room.disconnect();
    this.#end("hung up"); // a room that was never joined does not say so itself
  }

  get #agent() {
    return [...this.#room.remoteParticipants.values()].find((who) => who.isAgent);
  }

  #showAgentState() {
    const agent = this.#agent;
    const state = agent?.attributes[AGENT_STATE] ?? (agent ? "initializing" : "waiting");
    this.#listener.onAgentState(state);
    if (READY_STATES.has(state) && !this.#isReady) {
      this.#isReady = true;
      this.#listener.onReady();
    }
  }

  #showSound() {
    this.#listener.onSoundBlocked(!this.#room.canPlaybackAudio);
  }

  #hear(track) {
    if (track.kind === Track.Kind.Audio) this.#listener.onAgentAudio(track);
  }

  async #transcribe(reader, identity) {
    const speaker = identity === this.#room.localParticipant.identity ? "you" : "agent";
    const id = reader.info.attributes?.["lk.segment_id"] ?? reader.info.id;
    const isFinal = () => reader.info.attributes?.["lk.transcription_final"] === "true";
    let text = "";
    try {
      for await (const piece of reader) {
        text += piece;
        this.#listener.onTranscript({ id, speaker, text, final: false });
      }
    } catch (error) {
      if (!this.#hasEnded) console.warn("a transcript broke off", error);
    }
    // What the agent says is one stream, whole at its end; what it heard comes as one stream per guess.
    this.#listener.onTranscript({ id, speaker, text, final: speaker === "agent" || isFinal() });
  }

  #agentLeft() {
    this.#end("agent left");
    this.#room.disconnect();
  }

  #disconnected(reason) {
    const byAgent =
      reason === DisconnectReason.ROOM_DELETED || reason === DisconnectReason.PARTICIPANT_REMOVED;
    if (reason === DisconnectReason.CLIENT_INITIATED) this.#end("hung up");
    else this.#end(byAgent ? "agent left" : "lost");
  }

  #end(why) {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#microphone?.stop();
    this.#listener.onEnded(why);
  }
}
