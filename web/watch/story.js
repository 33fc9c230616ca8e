/**
 * The story, as the server tells it: an async iterator of `{type, data}`, where type is "message" (an
 * event of the story), "result" or "failure". Aborting the signal ends the story on the server too.
 */
export async function* story(signal) {
  const response = await fetch("story", { signal, headers: { Accept: "text/event-stream" } });
  if (!response.ok) throw new Error(await response.text());
  const pieces = response.body.pipeThrough(new TextDecoderStream());
  let rest = "";
  for await (const piece of chunks(pieces)) {
    const frames = (rest + piece).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const event = parse(frame);
      if (event) yield event;
    }
  }
}

/** Not every browser can iterate over a ReadableStream. */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** One Server-Sent Event; undefined for a comment. */
function parse(frame) {
  const event = { type: "message", data: undefined };
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) event.type = line.slice("event: ".length);
    if (line.startsWith("data: ")) event.data = JSON.parse(line.slice("data: ".length));
  }
  return event.data && event;
}
