import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ReasonEntry, reasonKind, reasonLink, reasons } from '../../src/api/v1alpha1/reasons.ts';
import { REPOSITORY } from './artifact.ts';
import { alerts, runbookName } from './monitoring/alerts.ts';
import { type ReasonHelp, reasonHelp } from './reason-causes.ts';
import { recordedMessage } from './reason-messages.ts';

/** Names of the kinds of reasons, and the status that tools show for them. */
export const MEANINGS: Readonly<
  Record<ReasonEntry['kind'], { readonly word: string; readonly tools: string }>
> = {
  good: {
    word: 'good',
    tools: 'Nothing is wrong. As the reason of `Ready` it reads Current to kstatus and Healthy to Argo CD.',
  },
  progress: {
    word: 'in progress',
    tools:
      'The operator is at work, and says so in `Reconciling`: kstatus reads InProgress, Argo CD Progressing, and `kubectl wait`, Flux and `helm --wait` go on waiting.',
  },
  retryable: {
    word: 'goes on by itself when the cause ends',
    tools:
      'The operator retries by itself. Meanwhile kstatus reads InProgress and Argo CD Progressing, if it is the reason of `Ready`.',
  },
  terminal: {
    word: '**Stalled** until a person acts',
    tools:
      '`Stalled` is True: kstatus reads Failed, Argo CD Degraded, and Flux and `helm --wait` end with an error. Trying again would not help, so the operator waits for you. Running machines keep billing.',
  },
};

/** Commands that show more of an object, by the kind of object with the reason. */
const INSTANCE = ['kubectl describe gpui NAME -n NAMESPACE', 'gpu-rent explain gpui/NAME -n NAMESPACE'];
const ACCOUNT = ['kubectl describe gpuacct NAME -n NAMESPACE', 'gpu-rent doctor'];
const GROUP = [
  'kubectl describe epg NAME -n NAMESPACE',
  'kubectl get gpui -n NAMESPACE -l gpurental.dev/endpoint-group=NAME',
];

function looksOf(reason: string, { remedy = '' }: ReasonEntry): readonly string[] {
  const kind = reasonKind(reason);
  if (kind === 'MarketplaceAccount' || remedy.includes('MarketplaceAccount')) return ACCOUNT;
  return kind === 'EndpointGroup' ? GROUP : INSTANCE;
}

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

/** Pages of alerts that lead to a reason: the reason leads back. */
function runbooksOf(reason: string): readonly string[] {
  const leading = alerts.filter((alert) =>
    read(`docs/runbooks/${runbookName(alert)}`).includes(`reference/${reasonLink(reason)})`),
  );
  return leading.map((alert) => `- Alert [${alert.alert}](../runbooks/${runbookName(alert)})`);
}

/** The how-to pages for administrators. */
const OPERATIONS = ['install.md', 'recovery.md', 'limits.md', 'access.md'];

/** Sections of the pages for administrators that name a reason. */
function operationsOf(reason: string): readonly string[] {
  return OPERATIONS.flatMap((page) => operationsIn(page, reason));
}

function operationsIn(page: string, reason: string): readonly string[] {
  const sections = read(`docs/how-to/${page}`).split(/^(?=##+ )/m);
  return sections
    .filter((section) => section.includes(`\`${reason}\``))
    .map((section) => {
      const heading = /^#+ (.*)$/m.exec(section)?.[1] ?? '';
      return `- [${heading}](../how-to/${page}#${heading.toLowerCase().replaceAll(' ', '-')})`;
    });
}

const helpOf = (reason: string): ReasonHelp | undefined =>
  (reasonHelp as Readonly<Record<string, ReasonHelp>>)[reason];

function causesOf(reason: string, { example, causes }: ReasonHelp): readonly string[] {
  const lines = causes.map(([cause, command]) => `- ${cause}: \`${command}\``);
  return [
    '```text',
    recordedMessage(reason) ?? example ?? '',
    '```',
    '',
    'Usual causes, and what shows them:',
    '',
    ...lines,
    '',
  ];
}

function section([name, entry]: readonly [string, ReasonEntry]): readonly string[] {
  const { kind, sentence, remedy } = entry;
  const help = helpOf(name);
  const more = [...runbooksOf(name), ...operationsOf(name)];
  return [
    `## ${name}`,
    '',
    `${sentence} (${MEANINGS[kind].word})`,
    '',
    ...(help ? causesOf(name, help) : []),
    ...(remedy ? [`**Fix**: ${remedy}`, ''] : []),
    ...(help?.fix ? ['```diff', help.fix, '```', ''] : []),
    ...(help || kind === 'good' ? [] : looksOf(name, entry).map((command) => `- \`${command}\``)),
    ...more,
    ...(more.length > 0 || (!help && kind !== 'good') ? [''] : []),
  ];
}

/** Returns the names of the reasons of a kind, in the order of the alphabet. */
export function reasonsOf(kind: ReturnType<typeof reasonKind>): readonly (readonly [string, ReasonEntry])[] {
  return Object.entries<ReasonEntry>(reasons)
    .filter(([name]) => reasonKind(name) === kind)
    .toSorted(([left], [right]) => left.localeCompare(right, 'en'));
}

/**
 * Returns a section for each reason of a kind: the meaning, an example, causes with the commands that show them, the
 * fix.
 */
export function reasonSections(kind: ReturnType<typeof reasonKind>): readonly string[] {
  return reasonsOf(kind).flatMap(section);
}
