/** The answer of the benches: Markdown of all kinds, in chunks of five characters. */

const CHARACTERS = 5;

const PASSAGE = `## What you need

To travel you need **three papers**, and *one* of them is \`optional\`; see
[the list](https://example.com/papers) or https://example.com/help.

1. a passport
   - valid for six months
   - with ~~one~~ two free pages
2. an invitation, 例如**医院**出具的邀请函

| Kind | Days | Price |
|:-----|-----:|:-----:|
| S2   | 30   | 12 €  |
| M    | 90   | \`20\` |

\`\`\`python
for day in range(30):
    print("day", day)  # no *emphasis* here
\`\`\`

> Prices are without tax, and change without notice.

`;

const event = (choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;

/** The form of Kefu's events, which is that of OpenAI. */
export const OURS = {
  text: (content) => event({ delta: { content } }),
  end: `${event({ delta: { content: "\n\nThat is all." } })}${event({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
};

/** A short answer, at once. */
export const SHORT = OURS.text(PASSAGE.slice(0, 100)) + OURS.end;

/** Sends by the clock: what is late goes out at once, as from a network. */
export function stream(response, form, chunks, perSecond) {
  const source = PASSAGE.repeat(Math.ceil((chunks * CHARACTERS) / PASSAGE.length));
  const start = performance.now();
  let sent = 0;
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const timer = setInterval(() => {
    const due = Math.min(chunks, ((performance.now() - start) * perSecond) / 1_000);
    for (; sent < due; sent += 1) {
      const content = source.slice(sent * CHARACTERS, (sent + 1) * CHARACTERS);
      response.write(form.text(content));
    }
    if (sent < chunks) return;
    clearInterval(timer);
    response.end(form.end);
  }, 5);
}
