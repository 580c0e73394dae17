import type { AddedLatency, BusyFigures, HeldFigures, IdleFigures, UploadFigures } from './own-figures.ts';
import type { Outcome, Spread } from './rounds.ts';

/** Line of the result. */
export interface Row {
  readonly what: string;
  /** Target as the table shows it; empty if there is none. */
  readonly target: string;
  readonly value: string;
  readonly met: boolean | undefined;
}

export interface OwnFigures {
  readonly few: BusyFigures;
  readonly many: BusyFigures;
  readonly streams: BusyFigures;
  readonly latency: AddedLatency;
  readonly held: HeldFigures;
  readonly uploads: UploadFigures;
  /** Uploads whose bodies never end. */
  readonly endless: UploadFigures;
  readonly idle: IdleFigures;
}

const TARGETS = {
  msPerPick: 0.25,
  picksPerSecond: 1500,
  addedP50Ms: 1,
  heldMiB: 250,
  /** Limits of the containers in the chart. */
  envoyLimitMiB: 512,
  pickerLimitMiB: 384,
  idlePercent: 2,
} as const;

/** Returns the rows. Targets apply to medians; the spread is shown next to them. */
export function rowsOf(figures: OwnFigures): readonly Row[] {
  const { few, many, streams, latency, held, idle, uploads, endless } = figures;
  const { pickerMiB, envoyMiB } = held;
  return [
    row(
      'processor time of the picker per pick, 8 workers',
      { target: `≤ ${TARGETS.msPerPick} ms`, met: few.pickerMsPerPick.median <= TARGETS.msPerPick },
      shown(few.pickerMsPerPick, 'ms'),
    ),
    row(
      'the same with 100 workers',
      { target: `≤ ${TARGETS.msPerPick} ms`, met: many.pickerMsPerPick.median <= TARGETS.msPerPick },
      shown(many.pickerMsPerPick, 'ms'),
    ),
    row(
      'picks per second, with Envoy, workers and load generator on the same cores',
      {
        target: `≥ ${TARGETS.picksPerSecond}`,
        met: few.picksPerSecond.median >= TARGETS.picksPerSecond,
      },
      shown(few.picksPerSecond, ''),
    ),
    row('the same with 100 workers', {}, shown(many.picksPerSecond, '')),
    row('processor time of Envoy per pick', {}, shown(few.envoyMsPerPick, 'ms')),
    row(
      'added latency at one connection, p50',
      { target: `≤ ${TARGETS.addedP50Ms} ms`, met: latency.p50Ms.median <= TARGETS.addedP50Ms },
      `${shown(latency.p50Ms, 'ms')}; ${fixed(latency.aloneP50Ms.median)} ms without`,
    ),
    row('added latency at one connection, p99', {}, shown(latency.p99Ms, 'ms')),
    row('processor time of the picker per stream of 20 events', {}, shown(streams.pickerMsPerPick, 'ms')),
    row('processor time of Envoy per stream of 20 events', {}, shown(streams.envoyMsPerPick, 'ms')),
    row(
      `resident memory of the picker with ${held.requests} held requests`,
      { target: `≤ ${TARGETS.heldMiB} MiB`, met: pickerMiB.held <= TARGETS.heldMiB },
      `${fixed(pickerMiB.held)} MiB, ${fixed(pickerMiB.before)} before`,
    ),
    row('of Envoy', {}, `${fixed(envoyMiB.held)} MiB, ${fixed(envoyMiB.before)} before`),
    row(
      'of them served when there are workers',
      { target: `${held.requests}`, met: held.ok === held.requests },
      `${held.ok} in ${fixed(held.servedSeconds)} s`,
    ),
    ...uploadRows(`${uploads.requests} held uploads of 1 MiB`, uploads),
    ...uploadRows(`${endless.requests} held bodies that never end`, endless),
    row(
      `of a core at rest, 100 workers, ${idle.seconds} s`,
      { target: `≤ ${TARGETS.idlePercent} %`, met: idle.pickerPercent <= TARGETS.idlePercent },
      `${fixed(idle.pickerPercent)} %; Envoy ${fixed(idle.envoyPercent)} %`,
    ),
  ];
}

function uploadRows(what: string, { pickerMiB, envoyMiB }: UploadFigures): readonly Row[] {
  const { envoyLimitMiB, pickerLimitMiB } = TARGETS;
  return [
    row(
      `resident memory of Envoy with ${what}`,
      { target: `≤ ${envoyLimitMiB} MiB`, met: envoyMiB.held <= envoyLimitMiB },
      `${fixed(envoyMiB.held)} MiB, ${fixed(envoyMiB.before)} before`,
    ),
    row(
      'of the picker',
      { target: `≤ ${pickerLimitMiB} MiB`, met: pickerMiB.held <= pickerLimitMiB },
      `${fixed(pickerMiB.held)} MiB, ${fixed(pickerMiB.before)} before`,
    ),
  ];
}

function row(what: string, { target = '', met }: { target?: string; met?: boolean }, value: string): Row {
  return { what, target, value, met };
}

function shown({ median, least, most }: Spread, unit: string): string {
  return `${fixed(median)}${unit && ` ${unit}`} (${fixed(least)} to ${fixed(most)})`;
}

/** Returns a number with three significant digits. */
function fixed(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(digits);
}

/** Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const verdict = (met: boolean | undefined): string =>
    met === undefined ? '' : met ? 'met' : '**not met**';
  const lines = rows.map(
    ({ what, target, value, met }) => `| ${what} | ${target} | ${value} | ${verdict(met)} |`,
  );
  return ['| what | target | median (least to most) | |', '|---|---|---|---|', ...lines].join('\n');
}

/** Returns a Markdown table of contenders side by side. */
export function comparisonOf(outcomes: readonly Outcome[]): string {
  const measured = outcomes.flatMap((outcome) => (outcome.type === 'measured' ? [outcome] : []));
  const names = Object.keys(measured[0]?.figures ?? {});
  const columns = ['', ...measured.map(({ name }) => name)];
  const figures = names.map((figure) => [
    figure,
    ...measured.map(({ figures: all }) => {
      const spread = all[figure];
      return spread ? shown(spread, '') : '';
    }),
  ]);
  const failures = ['failed of sent', ...measured.map(({ failed, sent }) => `${failed} of ${sent}`)];
  const lines = [columns, columns.map(() => '---'), failures, ...figures].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  const absent = outcomes.flatMap((outcome) =>
    outcome.type === 'absent' ? [`${outcome.name} did not take part: ${outcome.why}`] : [],
  );
  return [...lines, ...(absent.length > 0 ? ['', ...absent] : [])].join('\n');
}
