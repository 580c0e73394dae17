import type { Volume, VolumeOffer } from '../../marketplace/volume.ts';
import { dollarText, inDollars, timeText } from '../output/amounts.ts';
import type { View } from '../output/output.ts';

const text = (value: number | string | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

/** Disk on offer as JSON shows it. */
export function volumeOfferRow(offer: VolumeOffer) {
  return { ...offer, pricePerGBMonth: inDollars(offer.pricePerGBMonth) };
}

export const volumeOfferView: View<ReturnType<typeof volumeOfferRow>> = {
  kind: 'volume-offer',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Size', text: ({ sizeGB }) => size(sizeGB) },
    { header: '$/GB/month', text: ({ pricePerGBMonth }) => dollarText(pricePerGBMonth) },
    {
      header: 'Bandwidth',
      text: ({ bandwidthMBps }) => (bandwidthMBps ? `${Math.round(bandwidthMBps)} MB/s` : undefined),
    },
    { header: 'Disk', text: ({ diskName }) => diskName },
    { header: 'Machine', text: ({ machineId }) => text(machineId) },
    { header: 'Host', text: ({ hostId }) => text(hostId), wide: true },
    { header: 'Region', text: ({ region }) => region },
  ],
};

/** A rented volume as JSON shows it. */
export function volumeRow(volume: Volume) {
  return { ...volume, startedAt: timeText(volume.startedAt) };
}

export const volumeView: View<ReturnType<typeof volumeRow>> = {
  kind: 'volume',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Label', text: ({ label }) => label },
    { header: 'Status', text: ({ status }) => status },
    { header: 'Size', text: ({ sizeGB }) => size(sizeGB) },
    { header: 'Machine', text: ({ machineId }) => text(machineId) },
    { header: 'Disk', text: ({ diskName }) => diskName, wide: true },
    { header: 'Since', text: ({ startedAt }) => startedAt },
  ],
};

function size(gigabytes: number | undefined): string | undefined {
  return gigabytes === undefined ? undefined : `${Math.floor(gigabytes)}G`;
}
