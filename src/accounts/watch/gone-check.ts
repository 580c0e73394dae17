import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';

/** Machines that one check reads: each takes a place in the pace of its login. */
const MOST_READS = 4;

/** How a machine that lists do not show is asked for. */
export interface GoneSources {
  /** The machine by itself; null where there is none. */
  readonly read: (id: number) => Promise<Instance | null>;
  /** Whether the key in use proves the login right now. */
  readonly proveLogin: () => Promise<boolean>;
  /** A machine is there although lists do not show it. */
  readonly found: (id: number) => void;
}

/**
 * Which of these machines, which no list shows any more, are gone for sure: each that was read by itself and is not there,
 * with a key that proves the same login right after. A read that fails says nothing.
 */
export async function goneForSure(
  ids: ReadonlySet<number>,
  { read, proveLogin, found }: GoneSources,
): Promise<ReadonlySet<number>> {
  const absent = new Set<number>();
  for (const id of [...ids].slice(0, MOST_READS)) {
    const reading = await readOne(id, read);
    if (reading === 'absent') absent.add(id);
    if (reading === 'present') found(id);
  }
  return absent.size > 0 && (await proveLogin()) ? absent : new Set();
}

async function readOne(id: number, read: GoneSources['read']): Promise<'absent' | 'present' | 'failed'> {
  try {
    return (await read(id)) === null ? 'absent' : 'present';
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}
