import * as z from 'zod';
import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import { counted as numbered } from '../../lib/plural.ts';
import { wholeGigabytes } from '../../lib/quantity.ts';
import { formatDuration, parseDuration } from '../../lib/time.ts';
import type { FirstWorker, WorkerModel } from '../../replay/fleet.ts';
import type { WhatIf } from '../../replay/replay.ts';
import { usageError } from '../command-error.ts';
import { type Fault, faultError, type YamlPath, yamlSources } from './yaml-source.ts';

/** Workers that a user describes. */
interface WorkersFile {
  /** Models of workers in the order of their rental. */
  readonly models: readonly WorkerModel[];
  /** Workers at the beginning. */
  readonly first: readonly FirstWorker[];
}

const figure = z.union([z.number(), z.string()]).transform(String);
const dollars = figure.pipe(
  z.string().transform((text, context) => {
    const amount = parseDollars(text);
    if (amount !== undefined) return amount;
    context.addIssue('write dollars that are not negative, such as "0.40"');
    return z.NEVER;
  }),
);
const seconds = z.string('write a duration with units, such as 90s').transform((text, context) => {
  const duration = parseDuration(text);
  if (duration !== undefined && duration <= MAX_START_MS) return Math.ceil(duration / 1000);
  context.addIssue('write a duration up to 24h with units, such as 90s, 5m or 1h30m');
  return z.NEVER;
});
const MAX_START_MS = 86_400_000;
const perf = figure.transform((text, context) => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= 1e12) return value;
  context.addIssue('write work per second as a number above 0, such as 100');
  return z.NEVER;
});

const worker = z.strictObject({
  perf: perf.optional(),
  pricePerHour: dollars.optional(),
  coldPricePerHour: dollars.optional(),
  boot: seconds.optional(),
  wake: seconds.optional(),
  state: z
    .enum(['Hot', 'Cold'], 'write Hot or Cold, or leave it out for a worker that is rented later')
    .optional(),
  count: z.int('write a count such as 3').min(1).max(1000).default(1),
});
const workers = z.array(worker).min(1, 'write at least one worker');

const EXAMPLE =
  'Write a list such as: [{perf: 100, pricePerHour: "0.40", coldPricePerHour: "0.02", boot: 3m, wake: 20s, state: Hot, count: 2}]; every field may be left out.';

/**
 * Reads workers from a YAML list, or from the list under `workers`; missing fields come from `usual`. A worker with a
 * `state` exists at the beginning, the others are rented later. Throws a usage error for a fault, and for a worker
 * above `maxPrice`: such an offer is never rented, so the replay would describe another group.
 */
export function readWorkers(
  text: string,
  file: string,
  { usual, maxPrice }: { readonly usual: WorkerModel; readonly maxPrice: MicroDollars | undefined },
): WorkersFile {
  const [source] = yamlSources(text, file);
  if (!source) throw usageError(`${file}:1: the file is empty.`, EXAMPLE);
  const at: YamlPath = isWrapped(source.value) ? ['workers'] : [];
  const parsed = workers.safeParse(isWrapped(source.value) ? source.value.workers : source.value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => faultOf(issue, at));
    throw faultError(source, faults, EXAMPLE);
  }
  const tooExpensive = parsed.data.flatMap((given, index) =>
    tooExpensiveFault(given, maxPrice, [...at, index]),
  );
  if (tooExpensive.length > 0)
    throw faultError(source, tooExpensive, 'Lower the price, or raise maxPricePerHour in the group.');
  const all = parsed.data.flatMap((one) =>
    Array.from({ length: one.count }, () => ({
      desired: one.state,
      model: {
        perf: one.perf ?? usual.perf,
        pricePerHour: one.pricePerHour ?? usual.pricePerHour,
        coldPricePerHour: one.coldPricePerHour ?? usual.coldPricePerHour,
        bootSeconds: one.boot ?? usual.bootSeconds,
        wakeSeconds: one.wake ?? usual.wakeSeconds,
      },
    })),
  );
  const first = all.flatMap(({ desired, model }) => (desired === undefined ? [] : [{ model, desired }]));
  const models = all.flatMap(({ desired, model }) => (desired === undefined ? [model] : []));
  return { first, models: models.length > 0 ? models : all.slice(-1).map(({ model }) => model) };
}

function isWrapped(value: unknown): value is { readonly workers: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'workers' in value;
}

function faultOf(issue: z.core.$ZodIssue, at: YamlPath): Fault {
  const path = [...at, ...issue.path];
  if (issue.code !== 'unrecognized_keys') return { path, message: issue.message };
  const [key = ''] = issue.keys;
  return { path: [...path, key], message: 'no such field' };
}

type Given = z.output<typeof worker>;

function tooExpensiveFault(
  { pricePerHour = 0 }: Given,
  maxPrice: MicroDollars | undefined,
  at: YamlPath,
): readonly Fault[] {
  if (maxPrice === undefined || pricePerHour <= maxPrice) return [];
  const message = `is above the ${formatDollars(maxPrice)} that the template allows (maxPricePerHour)`;
  return [{ path: [...at, 'pricePerHour'], message }];
}

/**
 * Returns the initial workers of a group, from one of two sources: the states in the workers file, or the counts in
 * the first row of the trace, applied to the first workers of the file. Throws a usage error if both set them, if
 * they exceed maxWorkers, or if the file describes no worker.
 */
export function beginWith(
  { spec, trace, traceFile }: Pick<WhatIf, 'spec' | 'trace'> & { readonly traceFile: string },
  workers: WorkersFile,
): WhatIf {
  const { hot, cold } = trace.start;
  const isCounted = hot !== undefined || cold !== undefined;
  if (isCounted && workers.first.length > 0)
    throw usageError(
      `${traceFile} and the workers file both say how many workers the group starts with.`,
      'Leave out the columns hot and cold, or the states of the workers.',
    );
  const first = isCounted ? counted({ hot: hot ?? 0, cold: cold ?? 0 }, workers) : workers.first;
  if (first.length > spec.maxWorkers)
    throw usageError(
      `The group starts with ${numbered(first.length, 'worker')}, but its maxWorkers is ${spec.maxWorkers}.`,
      'Start with fewer, or raise maxWorkers.',
    );
  const [next, ...later] = isCounted
    ? workers.models.slice(Math.min(first.length, workers.models.length - 1))
    : workers.models;
  if (!next) throw usageError('The workers file describes no worker.', 'Write at least one.');
  return { spec, trace, first, models: [next, ...later] };
}

function counted(
  { hot, cold }: { readonly hot: number; readonly cold: number },
  { models }: WorkersFile,
): WhatIf['first'] {
  return Array.from({ length: hot + cold }, (_, index) => {
    const model = models[Math.min(index, models.length - 1)];
    return model === undefined
      ? []
      : [{ model, desired: index < hot ? ('Hot' as const) : ('Cold' as const) }];
  }).flat();
}

const PERF = 100;
const PRICE_PER_HOUR: MicroDollars = 400_000;
const DISK_PER_GB_MONTH: MicroDollars = 150_000;
const HOURS_PER_MONTH = 730;
const BOOT_SECONDS = 180;

/** Returns the default worker without a workers file, by the fields of the group if it has them. */
export function usualWorker(spec: EndpointGroupSpec, maxPrice: MicroDollars | undefined): WorkerModel {
  const perf = Number(spec.expectedPerf ?? 0);
  const gigabytes = wholeGigabytes(spec.template.spec.disk) ?? 0;
  return {
    perf: perf > 0 ? perf : PERF,
    pricePerHour: maxPrice ?? PRICE_PER_HOUR,
    coldPricePerHour: Math.round((gigabytes * DISK_PER_GB_MONTH) / HOURS_PER_MONTH),
    bootSeconds: BOOT_SECONDS,
    wakeSeconds: Math.ceil((parseDuration(spec.wakeTimeout) ?? 0) / 2000),
  };
}

/** Returns a note with the assumptions behind the figures. */
export function usualWorkerNote(
  spec: EndpointGroupSpec,
  model: WorkerModel,
  maxPrice: MicroDollars | undefined,
): string {
  const perf = Number(spec.expectedPerf ?? 0) > 0 ? 'expectedPerf' : 'a guess, set expectedPerf';
  const price = maxPrice === undefined ? 'a guess, set maxPricePerHour' : 'maxPricePerHour';
  return [
    'Each worker is taken to do',
    `${model.perf} units/s (${perf}),`,
    `to cost $${formatDollars(model.pricePerHour)}/h (${price}) and $${formatDollars(model.coldPricePerHour)}/h stopped,`,
    `to boot in ${formatDuration(model.bootSeconds * 1000)} and to wake in ${formatDuration(model.wakeSeconds * 1000)};`,
    '--workers FILE says otherwise.',
  ].join(' ');
}
