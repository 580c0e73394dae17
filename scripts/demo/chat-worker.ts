import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

interface ChatRequest {
  readonly model?: string;
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly stream_options?: { readonly include_usage?: boolean };
}

/** Tokens of a request without `max_tokens`. */
const DEFAULT_TOKENS = 8;
const PROMPT_TOKENS = 5;
/** Milliseconds between two tokens in the demo. */
export const TOKEN_MS = 100;
/** End mark of each stream. */
export const END_OF_STREAM = 'data: [DONE]\n\n';

/**
 * Answers POST to any path that ends in `/chat/completions` like a server of the OpenAI API, streaming or not, with the
 * requested number of tokens and `tokenMs` between two of them. A stream begins at once.
 */
export function chatWorker({ tokenMs }: { readonly tokenMs: number }): RequestListener {
  return (request, response) => {
    answer(request, response, tokenMs).catch(() => response.destroy());
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, tokenMs: number): Promise<void> {
  const body = await bodyOf(request);
  if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions')) {
    sendJson(response, 404, { error: { message: 'No such path.', type: 'invalid_request_error' } });
    return;
  }
  const asked = JSON.parse(body) as ChatRequest;
  const tokens = asked.max_completion_tokens ?? asked.max_tokens ?? DEFAULT_TOKENS;
  if (asked.stream === true) stream(response, { asked, tokens, tokenMs });
  else setTimeout(() => sendJson(response, 200, completion(asked, tokens)), tokens * tokenMs);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const word = (at: number): string => `word${at} `;
const usageOf = (tokens: number) => ({
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: tokens,
  total_tokens: PROMPT_TOKENS + tokens,
});
const headOf = ({ model = 'chat' }: ChatRequest, object: string) => ({
  ...{ id: 'chatcmpl-1', object, model },
  created: Math.floor(Date.now() / 1000),
});

function completion(asked: ChatRequest, tokens: number): unknown {
  const content = Array.from({ length: tokens }, (_, at) => word(at)).join('');
  const message = { role: 'assistant', content };
  const choice = { index: 0, message, finish_reason: 'stop' };
  return { ...headOf(asked, 'chat.completion'), choices: [choice], usage: usageOf(tokens) };
}

function stream(
  response: ServerResponse,
  { asked, tokens, tokenMs }: { asked: ChatRequest; tokens: number; tokenMs: number },
): void {
  const head = headOf(asked, 'chat.completion.chunk');
  const send = (rest: unknown): void =>
    void response.write(`data: ${JSON.stringify({ ...head, ...(rest as object) })}\n\n`);
  const sendChoice = (delta: unknown, reason: string | null = null): void =>
    send({ choices: [{ index: 0, delta, finish_reason: reason }] });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  sendChoice({ role: 'assistant', content: '' });
  let sent = 0;
  const timer = setInterval(() => {
    if (sent < tokens) {
      sendChoice({ content: word(sent++) });
      return;
    }
    clearInterval(timer);
    sendChoice({}, 'stop');
    if (asked.stream_options?.include_usage === true) send({ choices: [], usage: usageOf(tokens) });
    response.end(END_OF_STREAM);
  }, tokenMs);
  response.on('close', () => clearInterval(timer));
}
