import { expect, test } from 'vitest';
import {
  followsOneName,
  followsSelectedField,
  reportsRefusedField,
  type WidgetNamespace,
} from '../../../test/builders/field-selection.ts';
import { noCredentials } from '../../../test/builders/no-credentials.ts';
import { widgetDefinition } from '../../../test/builders/widgets.ts';
import { createMemoryKube } from '../../../test/simulation/memory-kube/memory-kube.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { createKubeClient } from '../kube/kube-client.ts';

function memoryApi(): WidgetNamespace & { readonly paths: readonly string[] } {
  const random = seededRandom(1);
  const kube = createMemoryKube({ clock: systemClock, random, definitions: [widgetDefinition] });
  const paths: string[] = [];
  const client = createKubeClient({
    ...{ clock: systemClock, random, log: silentLogger, credentials: noCredentials },
    origin: 'https://memory',
    transport(request) {
      paths.push(request.path);
      return kube.transport(request);
    },
  });
  return { client, namespace: 'default', paths };
}

test.each(['auto', 'paged'] as const)(
  'reports objects that enter and leave the selection of a field, with initial state %s',
  async (initialState) => {
    const api = memoryApi();
    await followsSelectedField(api, initialState);
    const reads = api.paths.filter((path) => path.includes('limit=') || path.includes('watch='));
    expect(reads.filter((path) => !path.includes('fieldSelector=spec.size%3D2'))).toEqual([]);
  },
);

test('follows one object by its name, and audits it alone', async () => {
  await followsOneName(memoryApi());
});

test('reports a field that the kind does not select by', async () => {
  await reportsRefusedField(memoryApi());
});
