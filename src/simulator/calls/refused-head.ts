import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

interface HeadRule {
  readonly breaks: (request: IncomingMessage) => boolean;
  readonly refusal: Refusal;
}

/** What speaks against a request before a byte of its body is read; the first rule that it breaks decides. */
const HEAD_RULES: readonly HeadRule[] = [
  {
    breaks: ({ httpVersion, headers }) => httpVersion === '1.1' && headers.host === undefined,
    refusal: new Refusal(400, 'bad_request', 'A request of HTTP/1.1 needs a Host header.'),
  },
  {
    breaks: ({ headers }) => (headers.expect ?? '100-continue').toLowerCase() !== '100-continue',
    refusal: new Refusal(417, 'expectation_failed', 'The only expectation that can be met is 100-continue.'),
  },
  {
    breaks: ({ headers }) => (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity',
    refusal: new Refusal(
      415,
      'unsupported_media_type',
      'Bodies are not unpacked here: send JSON without a Content-Encoding.',
    ),
  },
];

/** Why a request is refused by its head alone; undefined where nothing speaks against it. */
export function refusalOfHead(request: IncomingMessage): Refusal | undefined {
  return HEAD_RULES.find(({ breaks }) => breaks(request))?.refusal;
}
