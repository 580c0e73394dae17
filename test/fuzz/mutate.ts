import type { Random } from '../../src/lib/random.ts';

/** Pieces that parsers treat in a way of their own. */
const TOKENS = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\n',
  ' ',
  '#',
  '-',
  '.',
  '0',
  '9',
  'e',
  'E+',
  'null',
  'true',
  'false',
  '""',
  '{}',
  '[]',
  '-1',
  '-0',
  '1e400',
  '9007199254740993',
  'NaN',
  '+Inf',
  '0x10',
  '\u0000',
  '\ud800',
  'é',
  '🚀',
  '__proto__',
  'constructor',
  'items',
  'metadata',
  'resourceVersion',
  'type',
  'object',
  'value',
  'ms',
  's',
  'Gi',
] as const;
const MAX_CHARACTERS = 4096;

/** Changes a text a few times: pieces removed, doubled, moved, replaced, put in, or taken from another text. */
export function mutate(text: string, other: string, random: Random): string {
  const int = (below: number): number => Math.floor(random.next() * below);
  const token = (): string => TOKENS[int(TOKENS.length)] ?? '';
  let result = text;
  for (let times = 1 + int(4); times > 0; times -= 1) {
    const at = int(result.length + 1);
    const end = Math.min(result.length, at + 1 + int(random.next() < 0.7 ? 4 : 64));
    const changes = [
      () => result.slice(0, at) + result.slice(end),
      () => result.slice(0, end) + result.slice(at),
      () => result.slice(0, at) + token() + result.slice(at),
      () => result.slice(0, at) + token() + result.slice(end),
      () => result.slice(0, at) + String.fromCharCode(int(0x180)) + result.slice(at + 1),
      () => result.slice(0, at) + other.slice(int(other.length + 1)),
      () => result.slice(0, at) + result.slice(at, end).repeat(1 + int(20)) + result.slice(end),
    ];
    result = changes[int(changes.length)]?.() ?? result;
  }
  return result.slice(0, MAX_CHARACTERS);
}
