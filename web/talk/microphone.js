import { createLocalAudioTrack } from "../vendor/livekit-client.mjs";

/** The microphone cannot be had; the message says why, in words for the page. */
export class MicrophoneError extends Error {}

const REASONS = {
  NotAllowedError: "The browser was not allowed to use the microphone.",
  NotFoundError: "No microphone was found.",
  NotReadableError: "Another program is using the microphone.",
};

/** A live microphone track. Asks the visitor if the browser has to. */
export async function openMicrophone() {
  try {
    return await createLocalAudioTrack({
      echoCancellation: true,
      noiseSuppression: true,
      autoGainControl: true,
    });
  } catch (error) {
    const reason = REASONS[error.name] ?? "The microphone could not be started.";
    throw new MicrophoneError(reason, { cause: error });
  }
}
