import type { Instance } from '../../marketplace/instances/instances.ts';
import { ageText, dollarText, gigabytes, inDollars, timeText } from '../output/amounts.ts';
import type { View } from '../output/output.ts';

/** An instance as JSON shows it: prices in dollars, times in ISO 8601. */
export function instanceRow(instance: Instance) {
  const { actualStatusWord, pricePerHour, storagePricePerHour, startedAt, ...rest } = instance;
  return {
    ...rest,
    actualStatus: actualStatusWord,
    pricePerHour: inDollars(pricePerHour),
    storagePricePerHour: inDollars(storagePricePerHour),
    startedAt: timeText(startedAt),
  };
}

type InstanceRow = ReturnType<typeof instanceRow>;

const text = (value: number | string | null | undefined): string | undefined =>
  value === undefined || value === null ? undefined : String(value);

/** An instance in a table. `now`: epoch milliseconds, for ages. */
export function instanceView(now: number): View<InstanceRow> {
  return { kind: 'instance', name: ({ id }) => String(id), columns: columns(now) };
}

const columns = (now: number): View<InstanceRow>['columns'] => [
  { header: 'Id', text: ({ id }) => String(id) },
  { header: 'Status', text: ({ actualStatus }) => actualStatus ?? 'provisioning' },
  { header: 'GPU', text: ({ gpuName }) => gpuName },
  { header: 'Count', text: ({ gpuCount }) => text(gpuCount) },
  { header: '$/h', text: ({ pricePerHour }) => dollarText(pricePerHour) },
  {
    header: 'SSH',
    text: ({ sshHost, sshPort }) => (sshHost && sshPort ? `${sshHost}:${sshPort}` : undefined),
  },
  { header: 'Label', text: ({ label }) => label ?? undefined },
  { header: 'Age', text: ({ startedAt }) => (startedAt ? ageText(now - Date.parse(startedAt)) : undefined) },
  { header: 'Intended', text: ({ intendedStatus }) => intendedStatus, wide: true },
  { header: 'Image', text: ({ image }) => image, wide: true },
  { header: 'Disk', text: ({ diskGB }) => (diskGB === undefined ? undefined : `${diskGB}G`), wide: true },
  { header: 'Storage $/h', text: ({ storagePricePerHour }) => dollarText(storagePricePerHour), wide: true },
  { header: 'Memory', text: ({ gpuMemoryMB }) => gigabytes(gpuMemoryMB), wide: true },
  { header: 'Machine', text: ({ machineId }) => text(machineId), wide: true },
  { header: 'Host', text: ({ hostId }) => text(hostId), wide: true },
  { header: 'Region', text: ({ region }) => region, wide: true },
  { header: 'Ports', text: ({ ports }) => portText(ports), wide: true },
  { header: 'Message', text: ({ statusMessage }) => statusMessage ?? undefined, wide: true },
];

function portText(ports: InstanceRow['ports']): string {
  return Object.entries(ports)
    .map(([inside, outside]) => `${inside}=${outside}`)
    .join(' ');
}
