import { isObject, type Json, ownValue, textOf } from '../json.ts';
import { invalidArgs } from '../refusal.ts';

/*
 * `env` of a rental: variables by name with container options among the keys (`-p 8080:8080`), or one
 * string of container flags. PURE.
 */

/**
 * Returns variables and options of a rental in object form. Throws a 400 `invalid_args` Refusal if `env` is neither an
 * object nor a string.
 */
export function readEnv(value: Json | undefined): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value === 'string') return fromFlags(value);
  if (!isObject(value)) throw invalidArgs('env must be an object or a string of flags.');
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, textOf(text)]));
}

/** Converts `-e A=b -p 80:80` to the object form; quotes join words, anywhere in a word. */
function fromFlags(text: string): Record<string, string> {
  const words = text.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? [];
  const pairs: (readonly [string, string])[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const { flag, value } = splitFlag(words[index] ?? '');
    if (flag === undefined) continue;
    const next = words[index + 1];
    const takesNext = value === undefined && !BARE.has(flag) && next !== undefined && !next.startsWith('-');
    if (takesNext) index += 1;
    pairs.push(pairOf(flag, takesNext ? unquoted(next) : value));
  }
  return Object.fromEntries(pairs);
}

/** Flags without a value. */
const BARE: ReadonlySet<string> = new Set(
  '--privileged --rm --init --read-only --no-healthcheck -d --detach -i --interactive -t --tty -it -P --publish-all'.split(
    ' ',
  ),
);

const SHORT: Readonly<Record<string, string>> = {
  '--env': '-e',
  '--publish': '-p',
  '--volume': '-v',
  '--hostname': '-h',
  '--network': '-n',
  '--net': '-n',
};

/** Returns a word as a flag, under its short name, with a value in the same word: `--env=A=b`, `-p80:80`. */
function splitFlag(argument: string): { flag?: string; value?: string } {
  const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(argument) ?? /^(-[epv])(.+)$/s.exec(argument) ?? [];
  if (name !== undefined) return { flag: ownValue(SHORT, name) ?? name, value: unquoted(value ?? '') };
  return argument.startsWith('-') ? { flag: ownValue(SHORT, argument) ?? argument } : {};
}

function pairOf(flag: string, value: string | undefined): readonly [string, string] {
  if (value === undefined) return [flag, '1'];
  if (flag === '-h') return [flag, value];
  if (flag !== '-e') return [`${flag} ${value}`, '1'];
  const mark = value.indexOf('=');
  return mark === -1 ? [value, ''] : [value.slice(0, mark), value.slice(mark + 1)];
}

const unquoted = (argument: string): string => argument.replace(/"([^"]*)"|'([^']*)'/g, '$1$2');

/** Returns the container ports that `-p` options open, as `8080/tcp`. */
export function openedPorts(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .map((key) => /^-p\s+(?:\d+:)?(\d+)(?:\/(tcp|udp))?$/.exec(key))
    .filter((match) => match !== null)
    .map((match) => `${match[1]}/${match[2] ?? 'tcp'}`);
}
