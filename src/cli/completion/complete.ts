import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { printableLine } from '../../views/printable.ts';
import { allInstances } from '../all-instances.ts';
import type { CatalogEntry, Command, CommandArgument, CommandContext, CommandOption } from '../command.ts';
import { firstArgument, spellings } from '../locate.ts';
import { KINDS } from '../objects/kind-spelling.ts';
import { shownName } from '../objects/object-name.ts';
import { optionsOf } from '../options/option-sets.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/**
 * Answers a shell in cobra's protocol: one `value<TAB>description` per line, then `:4`. `words` follow the program's
 * name; the last one is incomplete. Never fails, because a shell could not show an error.
 */
export async function complete(
  entries: readonly CatalogEntry[],
  words: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { RootCommand } = await import('@bomb.sh/tab');
  const root = new RootCommand();
  for (const [verb, nouns] of verbsOf(entries)) root.command(verb, nouns.join(', '));
  for (const { name, summary } of entries) root.command(name, summary);
  const line = words.slice(firstArgument(words.slice(0, -1)).at);
  const typed = line.filter((part) => !part.startsWith('-'));
  const entry = entries.findLast(({ name }) => `${typed.join(' ')} `.startsWith(`${name} `));
  if (entry) {
    const command = await entry.load();
    const completed = root.command(entry.name, entry.summary);
    for (const option of optionsOf(command)) addOption(completed, asTyped(option, line));
    const candidates = await candidatesFor(command, words, context).catch(() => []);
    const offer = (add: (value: string, description: string) => void) => {
      for (const { value, description } of candidates) add(value, description);
    };
    for (const { name } of command.args ?? []) completed.argument(name, offer, name.includes('...'));
  }
  root.parse(line.length === 0 ? [''] : [...line]);
  return 0;
}

/**
 * Returns the first words of two-word names, with the words that may follow: without them the library finds no second
 * word.
 */
function verbsOf(entries: readonly CatalogEntry[]): ReadonlyMap<string, readonly string[]> {
  const verbs = new Map<string, readonly string[]>();
  for (const { name } of entries) {
    const [verb = '', noun] = name.split(' ');
    if (noun !== undefined) verbs.set(verb, [...(verbs.get(verb) ?? []), noun]);
  }
  return verbs;
}

/** Completes `--min-` to `--min-load`, although the specification spells it `--min_load`. */
function asTyped(option: CommandOption, words: readonly string[]): CommandOption {
  const isDashed = /^--[a-z0-9]+-/.test(words.at(-1) ?? '');
  return isDashed ? { ...option, flags: option.flags.replaceAll('_', '-') } : option;
}

type TabCommand = ReturnType<InstanceType<typeof import('@bomb.sh/tab').RootCommand>['command']>;

function addOption(command: TabCommand, option: CommandOption): void {
  const [long = '', short] = spellings(option).toSorted((a, b) => b.length - a.length);
  const name = long.replace(/^--/, '');
  const alias = short?.replace(/^-/, '');
  if (!/[<[]/.test(option.flags)) {
    if (alias === undefined) command.option(name, option.description);
    else command.option(name, option.description, alias);
    return;
  }
  const offer = (add: (value: string, description: string) => void) => {
    for (const choice of option.choices ?? []) add(choice, '');
  };
  if (alias === undefined) command.option(name, option.description, offer);
  else command.option(name, option.description, offer, alias);
}

/** A possible value of an argument. */
interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Time limit: a user waits for the candidates, so late answers are left out. */
const PATIENCE_MS = 1_500;

/**
 * Returns candidates for the first argument of a command: objects of the cluster and machines of the login, read now,
 * or the words in its description. None if no answer comes in time.
 */
async function candidatesFor(
  command: Command,
  words: readonly string[],
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const [argument] = command.args ?? [];
  if (!argument) return [];
  const input = { args: [], options: optionsIn(words) };
  const hurried = { ...context, signal: AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_MS)]) };
  const lists = [
    ...(/gpui|epg|gpuacct/.test(argument.description) ? [objects(argument, input, hurried)] : []),
    ...(/\binstances?\b/i.test(argument.description) ? [machines(input, hurried)] : []),
  ];
  const found = await Promise.all(lists.map((list) => inTime(list)));
  return [...found.flat(), ...namedWords(argument)];
}

interface Input {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Returns the options on the line that select the source. */
function optionsIn(words: readonly string[]): Input['options'] {
  const value = (...flags: readonly string[]): string | undefined => {
    const at = words.findIndex((typed) => flags.includes(typed));
    return at < 0 ? undefined : words[at + 1];
  };
  return {
    namespace: value('-n', '--namespace'),
    context: value('--context'),
    kubeconfig: value('--kubeconfig'),
    url: value('--url'),
    apiKeyFile: value('--api-key-file'),
    requestTimeout: '1s',
    retry: '1',
  };
}

interface Shown extends KubeObject {
  readonly status?: { readonly phase?: string };
}

function objects(
  { description }: CommandArgument,
  input: Input,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const kinds = KINDS.filter(({ shortNames }) =>
    shortNames.some((name) => new RegExp(`\\b${name}\\b`).test(description)),
  );
  return withCluster(input, context, async ({ kube, namespace }) => {
    const lists = await Promise.all(
      kinds.map(async (resource) => {
        const { items } = await kube.list<Shown>(resource, { namespace });
        return items.map(({ metadata, status }) => ({
          value: shownName(resource, metadata.name),
          description: printableLine(status?.phase ?? resource.kind),
        }));
      }),
    );
    return lists.flat();
  });
}

function machines(input: Input, context: CommandContext): Promise<readonly Candidate[]> {
  return withMarketplace(input, context, async ({ client }) =>
    (await allInstances(client)).map(({ id, gpuName, actualStatusText }) => ({
      value: id,
      description: printableLine([gpuName, actualStatusText ?? 'provisioning'].filter(Boolean).join(', ')),
    })),
  );
}

function inTime(list: Promise<readonly Candidate[]>): Promise<readonly Candidate[]> {
  const late = new Promise<readonly Candidate[]>((resolve) => {
    setTimeout(() => resolve([]), PATIENCE_MS).unref();
  });
  return Promise.race([list.catch(() => []), late]);
}

/** Returns the words that a description such as `email or sms.` names. */
function namedWords({ description }: CommandArgument): readonly Candidate[] {
  const words = /^([a-z]+(?:, [a-z]+)*) or ([a-z]+)\.$/.exec(description);
  if (!words) return [];
  return [...(words[1] ?? '').split(', '), words[2] ?? ''].map((value) => ({ value, description: '' }));
}
