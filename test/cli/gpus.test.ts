import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

let market: MarketplaceBench;
beforeAll(async () => {
  market = await marketplaceBench();
});
afterAll(() => market.close());

describe('list gpus', () => {
  test('shows names, memory, offers, a range of prices and regions', async () => {
    const { exitCode, stdout } = await market.cli.run(['list', 'gpus']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^GPU +Memory +Offers +From \$\/h +To \$\/h +Regions/i);
    expect(stdout).toMatch(/^RTX 4090 +24G +\d+ +\$0\.\d{2,6} +\$\d\.\d{2,6} +[A-Z]{2}/m);
  });

  test('has in JSON what each model costs, for one GPU, and counts every offer', async () => {
    const { stdout } = await market.cli.run(['list', 'gpus', '-o', 'json']);
    const models: readonly Record<string, number | string>[] = JSON.parse(stdout);
    const names = models.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { minPrice, maxPrice } of models)
      expect(Number(minPrice)).toBeLessThanOrEqual(Number(maxPrice));
    const [cheapest] = JSON.parse(
      (
        await market.cli.run([
          'search',
          'offers',
          'gpu_name=RTX_4090 num_gpus=1',
          '--order',
          'dph_total',
          '-o',
          'json',
        ])
      ).stdout,
    );
    const model = models.find(({ name }) => name === 'RTX 4090');
    expect(Number(model?.['minPrice'])).toBeLessThanOrEqual(cheapest.pricePerHour);
  });
});

describe('a search by a name that no GPU has', () => {
  test.each([
    [
      'gpu_name=RTX4090',
      "No offer has the GPU RTX4090. Did you mean 'RTX 4090'? gpu-rent list gpus shows all names.",
    ],
    ['gpu_name=rtx_4090', "Did you mean 'RTX 4090'?"],
    ['gpu_name=Voodoo', 'No offer has the GPU Voodoo. gpu-rent list gpus shows all names.'],
  ])('%s says which was probably meant', async (query, words) => {
    const { stderr } = await market.cli.run(['search', 'offers', query]);
    expect(stderr).toContain(words);
  });

  test('says nothing of a name that is right', async () => {
    const { stderr } = await market.cli.run(['search', 'offers', 'gpu_name=RTX_4090 dph_total<0.0001']);
    expect(stderr).not.toContain('No offer has the GPU');
  });
});
