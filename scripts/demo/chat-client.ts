import { END_OF_STREAM } from './chat-worker.ts';

/** A streamed chat in the view of its client. Times are those of `performance.now()`. */
export interface Chat {
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  readonly sentAt: number;
  readonly firstByteAt: number | undefined;
  /** The mark that ends a stream came. */
  readonly isWhole: boolean;
  /** The end of what came, or why nothing did. */
  readonly last: string;
}

const KEPT_CHARACTERS = 200;

/** Returns true if the chat was served from the first byte to the last. */
export const isServed = ({ status, isWhole }: Chat): boolean => status === 200 && isWhole;

/** Returns true if the chat began, and ended without its end mark. */
export const isCut = ({ status, isWhole }: Chat): boolean => status === 200 && !isWhole;

/** Asks for a chat of that many tokens and reads it to its end; whatever goes wrong is in the result. */
export async function streamChat(base: string, tokens: number, signal: AbortSignal): Promise<Chat> {
  const sentAt = performance.now();
  const seen: { status: number; firstByteAt: number | undefined; end: string } = {
    status: 0,
    firstByteAt: undefined,
    end: '',
  };
  try {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'chat',
        stream: true,
        max_tokens: tokens,
        messages: [{ role: 'user', content: 'hello' }],
      }),
      signal,
    });
    seen.status = response.status;
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      seen.firstByteAt ??= performance.now();
      seen.end = (seen.end + decoder.decode(bytes, { stream: true })).slice(-KEPT_CHARACTERS);
    }
  } catch (error) {
    seen.end = error instanceof Error ? error.message + String(error.cause) : String(error);
  }
  const { status, firstByteAt, end } = seen;
  return { status, sentAt, firstByteAt, isWhole: end.endsWith(END_OF_STREAM), last: end };
}

/** Sends `count` chats evenly over `overMs`. */
export function sendChats(
  { count, overMs }: { readonly count: number; readonly overMs: number },
  ask: () => Promise<Chat>,
): Promise<readonly Chat[]> {
  const at = (index: number): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, (index * overMs) / count));
  return Promise.all(Array.from({ length: count }, async (_, index) => at(index).then(ask)));
}
