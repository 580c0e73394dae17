import * as z from 'zod';
import type { FirstWorker, WorkerModel } from '../../controllers/endpoint-group/what-if/worker-model.ts';
import { parseDuration } from '../../lib/duration.ts';
import { type MicroDollars, parseDollars } from '../../lib/money.ts';
import { type Fault, faultError, type YamlPath, type YamlSource, yamlSources } from './yaml-source.ts';

/** Workers that a person describes. */
export interface WorkersFile {
  /** What workers are like in the order in which they are rented. */
  readonly models: readonly WorkerModel[];
  /** Those that are there at the beginning. */
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
const seconds = z
  .string('write a duration in quotes or bare with units, such as 90s')
  .transform((text, context) => {
    const duration = parseDuration(text);
    if (duration !== undefined && duration <= LONGEST_START_MS) return Math.ceil(duration / 1000);
    context.addIssue('write a duration up to 24h with units, such as 90s, 5m or 1h30m');
    return z.NEVER;
  });
const LONGEST_START_MS = 86_400_000;
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
 * Reads workers out of a YAML list, or the list under `workers`; fields that are left out are taken from `usual`. A
 * worker with a `state` is there at the beginning, the others are what is rented. What is wrong is a usage error.
 */
export async function readWorkers(
  text: string,
  file: string,
  { usual, dearest }: { readonly usual: WorkerModel; readonly dearest: MicroDollars | undefined },
): Promise<WorkersFile> {
  const [source] = await yamlSources(text, file);
  if (!source)
    throw faultError(
      { file, value: undefined, lineOf: () => 1 },
      [{ path: [], message: 'the file is empty' }],
      EXAMPLE,
    );
  const at: YamlPath = isWrapped(source.value) ? ['workers'] : [];
  const parsed = workers.safeParse(isWrapped(source.value) ? source.value.workers : source.value);
  if (!parsed.success)
    throw faultError(
      source,
      parsed.error.issues.map((issue) => faultOf(issue, at)),
      EXAMPLE,
    );
  refuseTooDear(
    source,
    parsed.data.map(({ pricePerHour }) => pricePerHour),
    { at, dearest },
  );
  const all = parsed.data.flatMap(({ count, state, ...given }) =>
    Array.from({ length: count }, () => ({ state, model: modelOf(given, usual) })),
  );
  const first = all.flatMap(({ state, model }) => (state === undefined ? [] : [{ model, wanted: state }]));
  const models = all.flatMap(({ state, model }) => (state === undefined ? [model] : []));
  return { first, models: models.length > 0 ? models : all.slice(-1).map(({ model }) => model) };
}

function isWrapped(value: unknown): value is { readonly workers: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'workers' in value;
}

function faultOf(issue: z.core.$ZodIssue, at: YamlPath): Fault {
  const path = [...at, ...issue.path];
  if (issue.code !== 'unrecognized_keys') return { path, message: issue.message };
  const [key = ''] = issue.keys;
  return { path: [...path, key], message: 'there is no such field' };
}

type Given = Omit<z.output<typeof worker>, 'count' | 'state'>;

function modelOf(
  { perf, pricePerHour, coldPricePerHour, boot, wake }: Given,
  usual: WorkerModel,
): WorkerModel {
  return {
    perf: perf ?? usual.perf,
    pricePerHour: pricePerHour ?? usual.pricePerHour,
    coldPricePerHour: coldPricePerHour ?? usual.coldPricePerHour,
    bootSeconds: boot ?? usual.bootSeconds,
    wakeSeconds: wake ?? usual.wakeSeconds,
  };
}

/** An offer above what the template allows is never rented, so a replay with it would tell of another group. */
function refuseTooDear(
  source: YamlSource,
  prices: readonly (MicroDollars | undefined)[],
  { at, dearest }: { readonly at: YamlPath; readonly dearest: MicroDollars | undefined },
): void {
  if (dearest === undefined) return;
  const faults = prices.flatMap((price, index) =>
    (price ?? 0) > dearest
      ? [
          {
            path: [...at, index, 'pricePerHour'],
            message: `is above the ${dearest / 1e6} that the template allows (maxPricePerHour)`,
          },
        ]
      : [],
  );
  if (faults.length > 0)
    throw faultError(source, faults, 'Lower the price, or raise maxPricePerHour in the group.');
}
