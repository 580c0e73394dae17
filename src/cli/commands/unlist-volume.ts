import { idChangeCommand } from '../id-change.ts';

/** For hosts: take a volume listing down, so that nobody can rent it any more. */
export const unlistVolume = idChangeCommand({
  name: 'unlist volume',
  kind: 'volume',
  did: 'unlisted',
  summary: 'For hosts: take a volume listing down, so that nobody can rent it any more.',
  change: (client, id) => client.volumes.unlist(id),
});
