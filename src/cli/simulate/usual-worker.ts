import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import { wholeGigabytes } from '../../lib/quantity.ts';
import { formatDuration, parseDuration } from '../../lib/time.ts';
import type { WorkerModel } from '../replay/fleet.ts';

const PERF = 100;
const PRICE_PER_HOUR: MicroDollars = 400_000;
const DISK_PER_GB_MONTH: MicroDollars = 150_000;
const HOURS_PER_MONTH = 730;
const BOOT_SECONDS = 180;

/** The worker that is assumed without a workers file: by the fields of the group as far as they say it. */
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

/** Names the assumptions behind the figures. */
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
