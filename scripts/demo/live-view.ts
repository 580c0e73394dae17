import { styleText } from 'node:util';
import { Screen, type Terminal } from './screen.ts';
import { alignColumns } from './table.ts';
import type { Sighting } from './watcher.ts';

type Instances = ReadonlyMap<string, Sighting>;

/** How the demo tells what happens. */
export interface View {
  heading(text: string): void;
  say(text: string): void;
  /** What changed between two looks. */
  show(before: Instances, now: Instances): void;
}

const HEADER = ['NAME', 'PHASE', 'STATE', 'INSTANCE', 'HOST', '$/H', 'READY', 'ENDPOINT'];

function rowOf(one: Sighting): readonly string[] {
  return [
    one.name,
    one.phase,
    one.word,
    String(one.instanceId ?? '-'),
    String(one.hostId ?? '-'),
    one.pricePerHour,
    one.isReady ? 'True' : 'False',
    one.endpoint,
  ];
}

/** The instances as a table. */
export function tableOf(instances: Instances): readonly string[] {
  return alignColumns([HEADER, ...[...instances.values()].map(rowOf)]);
}

function changesOf(before: Instances, now: Instances): readonly string[] {
  const lines: string[] = [];
  for (const [name, one] of now) {
    const was = before.get(name);
    if (was && rowOf(was).join() === rowOf(one).join() && was.message === one.message) continue;
    const where = one.instanceId === undefined ? '' : ` instance ${one.instanceId} on host ${one.hostId}`;
    const state = one.instanceId === undefined ? '' : ` (${one.word}${where}, $${one.pricePerHour}/h)`;
    lines.push(`${name}: ${one.phase}${state} ${firstSentence(one.message)}`.trimEnd());
  }
  for (const name of before.keys()) if (!now.has(name)) lines.push(`${name}: gone`);
  return lines;
}

/** What happened; what to do about it stands in the condition. */
function firstSentence(message: string): string {
  return /^.*?\.(?=\s|$)/s.exec(message)?.[0] ?? message;
}

/** Lines only: for logs and pipes. */
export function plainView(out: { write(text: string): unknown }): View {
  const startedAt = performance.now();
  const stamp = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)}s`;
  return {
    heading: (text) => void out.write(`\n${stamp()}  == ${text}\n`),
    say: (text) => void out.write(`${stamp()}  ${text}\n`),
    show(before, now) {
      for (const line of changesOf(before, now)) out.write(`${stamp()}  ${line}\n`);
    },
  };
}

/** Lines above, and below them a table that is drawn anew in place: for terminals. */
export function terminalView(out: Terminal): View {
  const screen = new Screen(out);
  const lines = plainView({ write: (text) => screen.above(text) });
  return {
    heading: (text) => lines.heading(styleText('bold', text)),
    say: lines.say,
    show(before, now) {
      lines.show(before, now);
      const [header = '', ...rows] = now.size > 0 ? tableOf(now) : [];
      screen.below(now.size > 0 ? ['', styleText('bold', header), ...rows] : []);
    },
  };
}
