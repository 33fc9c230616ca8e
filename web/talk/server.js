/** What the demo server is asked for. A refusal becomes an Error whose message can be shown. */

async function json(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    throw new Error("The demo server does not answer. Is it still running?", { cause: error });
  }
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** The agents a visitor may choose from: `[{agent_id, name}]`, the one offered first at the front. */
export async function listAgents() {
  return (await json("agents")).agents;
}

/** A room in which the agent will appear: `{url, token, room, identity}`. Mode: "voice" or "text". */
export function openSession(agentId, mode) {
  return json("session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ agent_id: agentId, mode }),
  });
}
