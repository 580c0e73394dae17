import { Refusal } from '../calls/refusal.ts';
import { isObject, textOf } from '../calls/request-body.ts';
import type { Json } from '../json.ts';

/*
 * `env` of a rental: variables by name with container options among the keys (`-p 8080:8080`), or one
 * string of container flags. PURE.
 */

/** Variables and options of a rental, in the object form whichever came. */
export function readEnv(value: Json | undefined): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value === 'string') return fromFlags(value);
  if (!isObject(value)) throw new Refusal(400, 'invalid_args', 'env must be an object or a string of flags.');
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, textOf(text)]));
}

/** `-e A=b -p 80:80` as the object form has it: each flag takes the word behind it. */
function fromFlags(text: string): Record<string, string> {
  const words = text.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  const pairs = words.flatMap((word, index) => {
    const isFlag = word.startsWith('-') && !words[index - 1]?.startsWith('-');
    return isFlag ? [pairOf(word, unquoted(words[index + 1] ?? ''))] : [];
  });
  return Object.fromEntries(pairs);
}

function pairOf(flag: string, value: string): readonly [string, string] {
  if (flag === '-h' || flag === '--hostname') return ['-h', value];
  if (flag !== '-e' && flag !== '--env') return [`${flag} ${value}`, '1'];
  const mark = value.indexOf('=');
  return mark === -1 ? [value, ''] : [value.slice(0, mark), value.slice(mark + 1)];
}

const unquoted = (word: string): string => word.replace(/^(["'])(.*)\1$/, '$2');

/** Container ports that `-p` options open, as `8080/tcp`. */
export function openedPorts(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .map((key) => /^-p\s+(?:\d+:)?(\d+)(?:\/(tcp|udp))?$/.exec(key))
    .filter((match) => match !== null)
    .map((match) => `${match[1]}/${match[2] ?? 'tcp'}`);
}
