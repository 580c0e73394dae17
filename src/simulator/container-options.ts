import { Refusal } from './refusal.ts';
import { isObject, textOf } from './request-body.ts';
import type { Json } from './world.ts';

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

/** `-e A=b -p 80:80` as the object form has it. */
function fromFlags(text: string): Record<string, string> {
  const env: Record<string, string> = {};
  const words = text.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (!word.startsWith('-')) continue;
    const value = unquoted(words[index + 1] ?? '');
    index += 1;
    if (word === '-e' || word === '--env') {
      const [name = '', ...rest] = value.split('=');
      env[name] = rest.join('=');
    } else if (word === '-h' || word === '--hostname') {
      env['-h'] = value;
    } else {
      env[`${word} ${value}`] = '1';
    }
  }
  return env;
}

const unquoted = (word: string): string => word.replace(/^(["'])(.*)\1$/, '$2');

/** Container ports that `-p` options open, as `8080/tcp`. */
export function openedPorts(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .map((key) => /^-p\s+(?:\d+:)?(\d+)(?:\/(tcp|udp))?$/.exec(key))
    .filter((match) => match !== null)
    .map((match) => `${match[1]}/${match[2] ?? 'tcp'}`);
}
