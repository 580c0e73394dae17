import { join } from 'node:path';
import { type RunningProcess, startGpuRent } from './processes.ts';

/** A simulated marketplace that listens. */
export interface Marketplace {
  readonly url: string;
  readonly apiKey: string;
  readonly controlUrl: string;
  stop(): Promise<void>;
}

const ARGS = ['simulator', '--port', '0', '--control', '--seed', '42', '--boot-scale', '0.02'];

/** Starts the simulator with hosts that boot quickly, on a free port. One that does not come up is ended, and is rejected. */
export function openSimulator(
  logFolder: string,
  flag: '--no-rate-limits' | '--serve-machines',
): Promise<Marketplace> {
  return opened(startGpuRent({ name: 'simulator', logFolder, args: [...ARGS, flag] }));
}

/**
 * Opens the marketplace of the playground, whose machines answer HTTP, chats and SSH; it keeps its files in that
 * folder.
 */
export function openPlaygroundMarket(logFolder: string, folder: string): Promise<Marketplace> {
  const entry = join(import.meta.dirname, 'playground-market.ts');
  return opened(startGpuRent({ name: 'simulator', logFolder, entry, args: [folder] }));
}

/** Opens a marketplace whose machines boot for that long, and then serve a language model. */
export function openChatSimulator(logFolder: string, bootSeconds: number): Promise<Marketplace> {
  const entry = join(import.meta.dirname, 'chat-simulator.ts');
  return opened(startGpuRent({ name: 'simulator', logFolder, entry, args: [String(bootSeconds)] }));
}

/** A marketplace that serves https. */
export interface SecureMarketplace extends Marketplace {
  /** File with the authority of its certificate. */
  readonly ca: string;
}

/** Opens a marketplace whose machines are processes of this computer, at most 16 unless given. */
export async function openDeadmanMarket(logFolder: string, maxMachines = 16): Promise<SecureMarketplace> {
  const entry = join(import.meta.dirname, 'deadman-market.ts');
  const simulator = startGpuRent({ name: 'simulator', logFolder, entry, args: [String(maxMachines)] });
  const marketplace = await opened(simulator);
  const { ca } = await simulator.ready;
  return { ...marketplace, ca: String(ca) };
}

async function opened(simulator: RunningProcess): Promise<Marketplace> {
  try {
    const { url, apiKey, control } = (await simulator.ready) as Record<'url' | 'apiKey' | 'control', string>;
    return { url, apiKey, controlUrl: control, stop: () => simulator.stop() };
  } catch (error) {
    await simulator.stop();
    throw error;
  }
}
