/** Rents the cheapest offer of a GPU model with the typed client: docs/how-to/client.md explains it. Costs money. */
import process from 'node:process';
import {
  createMarketplaceClient,
  createMarketplaceTransport,
  createPacer,
  MarketplaceError,
  Secret,
  silentLogger,
  systemClock,
  systemRandom,
} from 'gpu-rental-operator/client';

const { MARKETPLACE_URL: baseUrl = '', MARKETPLACE_KEY: apiKey = '' } = process.env;
const transport = createMarketplaceTransport();
const pacer = createPacer({ clock: systemClock });
const client = createMarketplaceClient({
  baseUrl,
  apiKey: new Secret(apiKey),
  transport,
  pacer,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});

try {
  const [offer] = await client.offers.search({
    filters: [{ field: 'gpu_name', operator: 'eq', value: 'RTX 4090' }],
    order: [{ field: 'dph_total', direction: 'asc' }],
    limit: 1,
  });
  if (!offer) throw new Error('no offer matches');
  const rented = await client.instances.rent(
    offer.id,
    { image: 'ubuntu:24.04', diskGB: 10, label: 'example' },
    { deadlineMs: 60_000 },
  );
  process.stdout.write(`rented machine ${rented.instanceId}\n`);
} catch (error) {
  // With outcome `unknown` a machine may exist and bill: look for its label in `client.instances.listAll()`.
  if (!(error instanceof MarketplaceError)) throw error;
  process.stderr.write(`${error.message} (${error.kind}, outcome ${error.outcome})\n`);
  process.exitCode = 1;
} finally {
  pacer.stop();
  await transport.close();
}
