/** A reply of a server. */
export interface TextReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reads a text as a reply: the status, headers each on a line of its own, an empty line, the body. */
export function replyOf(text: string): TextReply {
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const [status = '', ...lines] = head.split('\n');
  const headers = lines.map((line): [string, string] => {
    const [name = '', ...value] = line.split(': ');
    return [name.toLowerCase(), value.join(': ')];
  });
  return {
    status: statusOf(status),
    headers: Object.fromEntries(headers),
    body: end < 0 ? '' : text.slice(end + 2),
  };
}

/** Returns a three-digit HTTP status; an error status if the text has none. */
function statusOf(text: string): number {
  const status = Number(text);
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : 500;
}
