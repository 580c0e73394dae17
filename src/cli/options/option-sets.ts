import type { Command, CommandOption, OptionSet } from '../command.ts';

const OUTPUT: readonly CommandOption[] = [
  {
    flags: '-o, --output <format>',
    description:
      'Output format. json and yaml print one value: the report of one change, or a list for several changes.',
    choices: ['table', 'wide', 'json', 'yaml', 'name'],
  },
  { flags: '--raw', description: 'The same as -o json.' },
  { flags: '--no-headers', description: 'Omit the headings of tables.' },
  { flags: '--no-color', description: 'No colours; NO_COLOR does the same.' },
];

const REPORT: readonly CommandOption[] = OUTPUT.map((option) =>
  option.choices ? { ...option, choices: option.choices.filter((choice) => choice !== 'name') } : option,
);

const REQUEST_TIMEOUT: CommandOption = {
  flags: '--request-timeout <time>',
  description: 'Timeout of one request, e.g. 10s. Default: 30s.',
};

const MARKETPLACE: readonly CommandOption[] = [
  {
    flags: '--url <url>',
    description: 'The marketplace. Default: GPU_RENT_URL, VAST_URL, https://console.vast.ai.',
  },
  {
    flags: '--api-key <key>',
    description: 'Visible in the list of processes; prefer --api-key-file.',
  },
  {
    flags: '--api-key-file <file>',
    description: 'A file with the key. Default: GPU_RENT_API_KEY, VAST_API_KEY, then the per-user files.',
  },
  {
    flags: '--retry <n>',
    description: 'Attempts of a read; changes and rents are never repeated. Default: 3.',
  },
  { flags: '--explain', description: 'Show the HTTP calls on stderr, without secrets.' },
  REQUEST_TIMEOUT,
];

const CLUSTER: readonly CommandOption[] = [
  { flags: '-n, --namespace <name>', description: "Default: the context's own namespace." },
  { flags: '-A, --all-namespaces', description: 'All namespaces, if a command lists.' },
  { flags: '--context <name>', description: 'Another context of the kubeconfig.' },
  { flags: '--kubeconfig <file>', description: 'Default: KUBECONFIG, ~/.kube/config.' },
  { flags: '--as <user>', description: 'Impersonate this user.' },
  { flags: '--as-group <group>', description: 'Impersonate this group, too; repeatable.', repeatable: true },
  REQUEST_TIMEOUT,
  {
    flags: '--operator-namespace <name>',
    description: 'Namespace of the operator. Default: GPU_RENTAL_NAMESPACE, gpu-rental-system.',
  },
];

const SETS: Readonly<
  Record<OptionSet, { readonly group: string; readonly options: readonly CommandOption[] }>
> = {
  output: { group: 'Output:', options: OUTPUT },
  report: { group: 'Output:', options: REPORT },
  marketplace: { group: 'Marketplace:', options: MARKETPLACE },
  cluster: { group: 'Cluster:', options: CLUSTER },
};

/** Returns the shared options of a command, each under its first heading. */
export function sharedOptions(sets: readonly OptionSet[] = []): readonly CommandOption[] {
  const all = sets.flatMap((set) =>
    SETS[set].options.map((option) => ({ ...option, group: SETS[set].group })),
  );
  return all.filter(({ flags }, at) => all.findIndex((option) => option.flags === flags) === at);
}

/** Every shared option; shared options may also come before the command. */
export const GLOBAL_OPTIONS: readonly CommandOption[] = sharedOptions(['output', 'marketplace', 'cluster']);

/** Returns every option of a command, its own before the shared ones; an own option hides a shared one of that name. */
export function optionsOf(command: Command): readonly CommandOption[] {
  const own = command.options ?? [];
  const taken = new Set(own.map(({ flags }) => longName(flags)));
  return [...own, ...sharedOptions(command.optionSets).filter(({ flags }) => !taken.has(longName(flags)))];
}

function longName(flags: string): string {
  return /--[a-z0-9-_]+/i.exec(flags)?.[0] ?? flags;
}
