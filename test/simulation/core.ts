/**
 * Worker process of a swarm: plays the seeds that it receives and sends each result back. Ends with its parent
 * process.
 */
import { z } from 'zod';
import type { PlayedSeed } from './cores.ts';
import { MARKET_NAMES } from './simulated-market.ts';
import { type Play, playSeed } from './swarm.ts';
import { Watchdog } from './watchdog.ts';

const message = z.strictObject({ seed: z.int(), market: z.enum(MARKET_NAMES) });
const watchdog = new Watchdog();

// Ctrl-C reaches every process of the terminal; whoever started this one decides what becomes of its seed.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.on('message', (sent) => void play(message.parse(sent)));

async function play(sent: Play): Promise<void> {
  const before = process.cpuUsage();
  const schedules = await playSeed(sent, (what) => watchdog.running(what));
  const { user, system } = process.cpuUsage(before);
  const played: PlayedSeed = { seed: sent.seed, schedules, cpuMicros: user + system };
  process.send?.(played);
}
