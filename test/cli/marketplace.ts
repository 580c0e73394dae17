import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { type CommandLine, commandLine } from './command-line.ts';

/** A simulated marketplace on loopback, and a person who has a key of it in the environment. */
export interface MarketplaceBench {
  readonly service: SimulatedService;
  readonly url: string;
  readonly cli: CommandLine;
  /** Puts one fault in force. */
  fault(name: string, endpoint: string, more?: Readonly<Record<string, unknown>>): Promise<void>;
  clearFaults(): Promise<void>;
  /** Returns the IDs of available offers, cheapest first. */
  offers(): Promise<readonly number[]>;
  close(): Promise<void>;
}

export async function marketplaceBench(options: SimulatorOptions = {}): Promise<MarketplaceBench> {
  const service = simulatedService(options);
  const server = await service.simulator.listen();
  const cli = commandLine({ GPU_RENT_URL: server.url, GPU_RENT_API_KEY: service.simulator.apiKey });
  return {
    service,
    url: server.url,
    cli,
    async fault(name, endpoint, more = { count: 1 }) {
      const { status, body } = await service.call('POST /sim/faults', { name, endpoint, ...more });
      if (status !== 200) throw new Error(JSON.stringify(body));
    },
    async clearFaults() {
      await service.call('DELETE /sim/faults', {});
    },
    async offers() {
      const { body } = await service.call('POST /api/v0/bundles/', { rentable: { eq: true }, limit: 64 });
      return (body.offers as readonly { readonly id: number }[]).map(({ id }) => id);
    },
    async close() {
      await server.close();
      cli.leave();
    },
  };
}
