import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountReasons,
  groupReasons,
  type ReasonEntry,
  reasonAnchor,
  reasons,
} from '../../src/api/v1alpha1/reasons.ts';
import { REPOSITORY } from './artifact.ts';
import { alerts, runbookName } from './monitoring/alerts.ts';
import { type ReasonHelp, reasonHelp } from './reason-causes.ts';

/** What each kind of reason is called, and what tools make of an object that has it. */
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
      'Nothing has to be touched for it to go on: the operator tries again. Meanwhile kstatus reads InProgress and Argo CD Progressing, where it is the reason of `Ready`.',
  },
  terminal: {
    word: '**Stalled** until a person acts',
    tools:
      '`Stalled` is True: kstatus reads Failed, Argo CD Degraded, and Flux and `helm --wait` end with an error. Trying again would not help, so the operator waits for you. Running machines keep billing.',
  },
};

/** What shows more of an object, by the part of the catalogue that the reason stands in. */
const INSTANCE = ['kubectl describe gpui NAME -n NAMESPACE', 'gpu-rent explain gpui/NAME -n NAMESPACE'];
const ACCOUNT = ['kubectl describe gpuacct NAME -n NAMESPACE', 'gpu-rent doctor'];
const GROUP = [
  'kubectl describe epg NAME -n NAMESPACE',
  'kubectl get gpui -n NAMESPACE -l gpurental.dev/endpoint-group=NAME',
];

function looksOf(reason: string, { remedy = '' }: ReasonEntry): readonly string[] {
  if (reason in accountReasons || remedy.includes('MarketplaceAccount')) return ACCOUNT;
  return reason in groupReasons ? GROUP : INSTANCE;
}

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

/** Pages of alerts that lead to a reason: the reason leads back. */
function runbooksOf(reason: string): readonly string[] {
  const leading = alerts.filter((alert) =>
    read(`docs/runbooks/${runbookName(alert)}`).includes(`reference/reasons.md${reasonAnchor(reason)})`),
  );
  return leading.map((alert) => `- Alert [${alert.alert}](../runbooks/${runbookName(alert)})`);
}

/** Sections of the operations page that speak of a reason. */
function operationsOf(reason: string): readonly string[] {
  const sections = read('docs/how-to/operations.md').split(/^(?=##+ )/m);
  return sections
    .filter((section) => section.includes(`\`${reason}\``))
    .map((section) => {
      const heading = /^#+ (.*)$/m.exec(section)?.[1] ?? '';
      return `- [Operations: ${heading}](../how-to/operations.md#${heading.toLowerCase().replaceAll(' ', '-')})`;
    });
}

const helpOf = (reason: string): ReasonHelp | undefined =>
  (reasonHelp as Readonly<Record<string, ReasonHelp>>)[reason];

function causesOf({ example, causes }: ReasonHelp): readonly string[] {
  const lines = causes.map(([cause, command]) => `- ${cause}: \`${command}\``);
  return ['```text', example, '```', '', 'Usual causes, and what shows them:', '', ...lines, ''];
}

function section([name, entry]: readonly [string, ReasonEntry]): readonly string[] {
  const { kind, sentence, remedy } = entry;
  const help = helpOf(name);
  const more = [...runbooksOf(name), ...operationsOf(name)];
  return [
    `### ${name}`,
    '',
    `${sentence} (${MEANINGS[kind].word})`,
    '',
    ...(help ? causesOf(help) : []),
    ...(remedy ? [`**Fix**: ${remedy}`, ''] : []),
    ...(help?.fix ? ['```diff', help.fix, '```', ''] : []),
    ...(help || kind === 'good' ? [] : looksOf(name, entry).map((command) => `- \`${command}\``)),
    ...more,
    ...(more.length > 0 || (!help && kind !== 'good') ? [''] : []),
  ];
}

/** A section for each reason: what it means, an example, its causes with the commands that show them, the fix. Messages of conditions link to its heading. */
export function reasonSections(): readonly string[] {
  return Object.entries<ReasonEntry>(reasons)
    .toSorted(([left], [right]) => left.localeCompare(right, 'en'))
    .flatMap(section);
}
