import type { CatalogGroup } from '../catalog-entry.ts';

export const VOLUMES: CatalogGroup = {
  heading: 'Volumes',
  entries: [
    {
      name: 'search volumes',
      summary: 'Find disk for rent.',
      aliases: ['search volume'],
      load: async () => (await import('../commands/search-volumes.ts')).searchVolumes,
    },
    {
      name: 'rent volume',
      summary: 'Rent disk as a volume.',
      load: async () => (await import('../commands/rent-volume.ts')).rentVolume,
    },
    {
      name: 'list volumes',
      summary: 'Show the volumes that the login rents.',
      aliases: ['show volumes', 'get volumes'],
      load: async () => (await import('../commands/list-volumes.ts')).listVolumes,
    },
    {
      name: 'delete volume',
      summary: 'Delete volumes that you rent, with everything on them.',
      load: async () => (await import('../commands/delete-volume.ts')).deleteVolume,
    },
    {
      name: 'offer volume',
      summary: 'For hosts: put disk of machines up for rent.',
      load: async () => (await import('../commands/offer-volume.ts')).offerVolume,
    },
    {
      name: 'unlist volume',
      summary: 'For hosts: take a volume listing down, so that nobody can rent it any more.',
      load: async () => (await import('../commands/unlist-volume.ts')).unlistVolume,
    },
  ],
};
