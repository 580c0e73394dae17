import { styleText } from 'node:util';
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
    lines.push(`${name}: ${one.phase}${state} ${one.message}`.trimEnd());
  }
  for (const name of before.keys()) if (!now.has(name)) lines.push(`${name}: gone`);
  return lines;
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

const CLEAR_BELOW = '\u001b[0J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A\r` : '');

/** Lines above, and below them a table that is drawn anew in place: for terminals. */
export function terminalView(out: NodeJS.WritableStream & { readonly columns?: number }): View {
  const lines = plainView({ write: (text) => above(text) });
  let table: readonly string[] = [];
  const draw = (): void => {
    const width = out.columns ?? 120;
    const [header = '', ...rows] = table;
    const drawn = ['', styleText('bold', header.slice(0, width)), ...rows.map((row) => row.slice(0, width))];
    out.write(`${drawn.join('\n')}\n`);
  };
  const above = (text: string): void => {
    if (table.length > 0) out.write(up(table.length + 1) + CLEAR_BELOW);
    out.write(text);
    if (table.length > 0) draw();
  };
  return {
    heading: (text) => lines.heading(styleText('bold', text)),
    say: lines.say,
    show(before, now) {
      lines.show(before, now);
      const next = now.size > 0 ? tableOf(now) : [];
      if (next.join() === table.join()) return;
      if (table.length > 0) out.write(up(table.length + 1) + CLEAR_BELOW);
      table = next;
      if (table.length > 0) draw();
    },
  };
}
