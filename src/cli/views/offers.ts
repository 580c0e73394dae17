import type { Offer } from '../../marketplace/offers/offers.ts';
import { ageText, dollarText, gigabytes, inDollars } from '../output/amounts.ts';
import type { View } from '../output/output.ts';

/** An offer as JSON shows it: prices in dollars, memory in MB. */
export function offerRow(offer: Offer) {
  return { ...offer, pricePerHour: inDollars(offer.pricePerHour), minBid: inDollars(offer.minBid) };
}

type OfferRow = ReturnType<typeof offerRow>;

const text = (value: number | string | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

const columns: View<OfferRow>['columns'] = [
  { header: 'Id', text: ({ id }) => String(id) },
  { header: 'GPU', text: ({ gpuName }) => gpuName },
  { header: 'Count', text: ({ gpuCount }) => text(gpuCount) },
  { header: 'Memory', text: ({ gpuMemoryMB }) => gigabytes(gpuMemoryMB) },
  { header: '$/h', text: ({ pricePerHour }) => dollarText(pricePerHour) },
  { header: 'Min bid', text: ({ minBid }) => dollarText(minBid), wide: true },
  { header: 'Reliability', text: (row) => percent(row.reliability) },
  { header: 'Verified', text: ({ verified }) => (verified === undefined ? undefined : yesNo(verified)) },
  { header: 'Ports', text: ({ directPorts }) => text(directPorts) },
  { header: 'Disk', text: ({ diskGB }) => (diskGB === undefined ? undefined : `${Math.floor(diskGB)}G`) },
  { header: 'Region', text: ({ region }) => region },
  { header: 'CPUs', text: ({ cpuCores }) => text(cpuCores), wide: true },
  { header: 'RAM', text: ({ memoryMB }) => gigabytes(memoryMB), wide: true },
  { header: 'CUDA', text: ({ cudaVersion }) => text(cudaVersion), wide: true },
  { header: 'DLPerf', text: ({ performance }) => performance?.toFixed(1), wide: true },
  { header: 'Machine', text: ({ machineId }) => text(machineId), wide: true },
  { header: 'Host', text: ({ hostId }) => text(hostId), wide: true },
  { header: 'For', text: (row) => span(row.remainingSeconds), wide: true },
];

export const offerView: View<OfferRow> = { kind: 'offer', name: ({ id }) => String(id), columns };

function percent(share: number | undefined): string | undefined {
  return share === undefined ? undefined : `${(share * 100).toFixed(1)}%`;
}

function span(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : ageText(seconds * 1000);
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
