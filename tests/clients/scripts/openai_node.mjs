// OpenAI's own client for JavaScript, with its default retries. Same jobs, same outcomes as the
// Python scripts beside it.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

async function ask(job, outcome) {
  const client = new OpenAI({ baseURL: job.base_url, apiKey: "unused" });
  const messages = [{ role: "user", content: job.question }];
  const models = await client.models.list();
  const model = models.data[0].id;
  if (job.question === "tool") {
    await useTool(client, model, outcome);
    return;
  }
  if (job.question === "json") {
    const schema = { type: "object", properties: { city: { type: "string" } } };
    const response_format = { type: "json_schema", json_schema: { name: "weather", schema } };
    const answer = await client.chat.completions.parse({ model, messages, response_format });
    outcome.text = JSON.stringify(JSON.parse(answer.choices[0].message.content));
    return;
  }
  if (!job.stream) {
    const answer = await client.chat.completions.create({ model, messages });
    outcome.text = answer.choices[0].message.content;
    outcome.finish = answer.choices[0].finish_reason;
    return;
  }
  const chunks = await client.chat.completions.create({ model, messages, stream: true });
  for await (const chunk of chunks) {
    outcome.text += chunk.choices[0].delta.content ?? "";
    outcome.finish = chunk.choices[0].finish_reason;
  }
}

async function useTool(client, model, outcome) {
  const messages = [
    { role: "developer", content: "Be short." },
    { role: "user", content: "tool" },
  ];
  const parameters = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const first = await client.chat.completions.create({ model, messages, tools });
  const called = first.choices[0].message;
  messages.push(called, {
    role: "tool",
    tool_call_id: called.tool_calls[0].id,
    content: "sunny",
  });
  const second = await client.chat.completions.create({ model, messages, tools });
  outcome.text = second.choices[0].message.content;
  outcome.finish = first.choices[0].finish_reason;
}

function kinds(error) {
  const names = [];
  for (let kind = error.constructor; kind?.name; kind = Object.getPrototypeOf(kind)) {
    names.push(kind.name);
  }
  return names;
}

const outcomes = [];
for (const job of JSON.parse(readFileSync(0, "utf8"))) {
  const outcome = { text: "", finish: null, error: [], status: null, code: null, message: "" };
  try {
    await ask(job, outcome);
  } catch (error) {
    outcome.error = kinds(error);
    outcome.status = error.status ?? null;
    outcome.code = error.code ?? null;
    outcome.message = String(error.message);
  }
  outcomes.push(outcome);
}
console.log(JSON.stringify(outcomes));
