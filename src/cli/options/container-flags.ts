import { MAX_IDENTITY_PORT, MAX_PORT, MIN_IDENTITY_PORT } from '../../api/v1alpha1/identity-port.ts';
import type { ContainerPort } from '../../markets/vast/instances/rent.ts';
import { usageError } from '../command-error.ts';
import { parseNumber } from '../option-values.ts';

/** Variables and ports of `--env`, in their order. */
export interface ContainerFlags {
  /** `NAME=value`, or a name alone. */
  readonly variables: readonly string[];
  readonly ports: readonly ContainerPort[];
}

/**
 * Parses the values of `--env`: each is a variable, or flags in the form of the marketplace's documentation,
 * `-e A=b -p 8000:8000`. Throws a usage error for a flag that is neither `-e` nor `-p`.
 */
export function containerFlags(values: readonly string[]): ContainerFlags {
  const read = values.map((value) =>
    value.startsWith('-') ? flagsIn(value) : { variables: [value], ports: [] },
  );
  return {
    variables: read.flatMap(({ variables }) => variables),
    ports: read.flatMap(({ ports }) => ports),
  };
}

const FORMS: Readonly<Record<string, 'variable' | 'port'>> = {
  '-e': 'variable',
  '--env': 'variable',
  '-p': 'port',
  '--publish': 'port',
};

function flagsIn(text: string): ContainerFlags {
  const words = wordsOf(text);
  const variables: string[] = [];
  const ports: ContainerPort[] = [];
  while (words.length > 0) {
    const [flag, written] = splitFlag(words.shift() ?? '');
    const form = Object.hasOwn(FORMS, flag) ? FORMS[flag] : undefined;
    if (form === undefined)
      throw usageError(
        `--env: "${flag}" is not understood in "${text}".`,
        'Write -e NAME=value and -p PORT:PORT in it, or use --env NAME=value and --port PORT. Volumes: --volume ID:/path.',
      );
    const value = written ?? words.shift();
    if (value === undefined) throw usageError(`--env: ${flag} at the end of "${text}" has no value.`);
    if (form === 'variable') variables.push(value);
    else ports.push(publishedPort(value));
  }
  return { variables, ports };
}

/** Returns the words between blanks; quotes join words. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((token) => token.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

/** Returns a flag, and the value in the same word. */
function splitFlag(token: string): readonly [string, string?] {
  const [, long, text] = /^(--[a-z]+)=(.*)$/s.exec(token) ?? /^(-[ep])(.+)$/s.exec(token) ?? [];
  return long === undefined ? [token] : [long, text ?? ''];
}

/** Parses `8000:8000/tcp`, or the port of the container alone: the marketplace chooses the public one. */
function publishedPort(text: string): ContainerPort {
  return portOf(text.split(':').at(-1) ?? '', '--env: -p');
}

/**
 * Parses a port such as `8080`, `53/udp`, or an identity port such as `70000`. Throws a usage error that names `option`
 * for anything else.
 */
export function portOf(text: string, option: string): ContainerPort {
  const [port = '', protocol = 'tcp'] = text.split('/');
  if (protocol !== 'tcp' && protocol !== 'udp')
    throw usageError(`${option}: "${text}" is neither /tcp nor /udp.`);
  const number = parseNumber(port, option, { min: 1, max: MAX_IDENTITY_PORT, whole: true });
  if (number > MAX_PORT && number < MIN_IDENTITY_PORT)
    throw usageError(
      `${option}: "${port}" is no port.`,
      `Write 1 to ${MAX_PORT}, or ${MIN_IDENTITY_PORT} and above for a port with one number inside and outside.`,
    );
  return { port: number, protocol };
}
