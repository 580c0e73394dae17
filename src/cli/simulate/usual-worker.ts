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

/** A worker where nobody says more: by the group's own fields as far as they tell it. */
export function usualWorker(spec: EndpointGroupSpec, dearest: MicroDollars | undefined): WorkerModel {
  const perf = Number(spec.expectedPerf ?? 0);
  const gigabytes = wholeGigabytes(spec.template.spec.disk) ?? 0;
  return {
    perf: perf > 0 ? perf : PERF,
    pricePerHour: dearest ?? PRICE_PER_HOUR,
    coldPricePerHour: Math.round((gigabytes * DISK_PER_GB_MONTH) / HOURS_PER_MONTH),
    bootSeconds: BOOT_SECONDS,
    wakeSeconds: Math.ceil((parseDuration(spec.wakeTimeout) ?? 0) / 2000),
  };
}

/** Says what was taken for granted, so that nobody takes the figures for more than they are. */
export function usualWorkerNote(
  spec: EndpointGroupSpec,
  model: WorkerModel,
  dearest: MicroDollars | undefined,
): string {
  const perf = Number(spec.expectedPerf ?? 0) > 0 ? 'expectedPerf' : 'a guess, set expectedPerf';
  const price = dearest === undefined ? 'a guess, set maxPricePerHour' : 'maxPricePerHour';
  return [
    'Each worker is taken to do',
    `${model.perf} units/s (${perf}),`,
    `to cost $${formatDollars(model.pricePerHour)}/h (${price}) and $${formatDollars(model.coldPricePerHour)}/h stopped,`,
    `to boot in ${formatDuration(model.bootSeconds * 1000)} and to wake in ${formatDuration(model.wakeSeconds * 1000)};`,
    '--workers FILE says otherwise.',
  ].join(' ');
}
