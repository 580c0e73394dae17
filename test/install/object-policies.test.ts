import { expect, test } from 'vitest';
import { objectPolicies } from '../../scripts/generate/admission/object-policies.ts';
import { gpuInstanceChanges } from '../../scripts/generate/changes-table.ts';

test.each(['replacement', 'worker-replacement'])(
  'the warning of policy %s names the fields whose change replaces a machine, and no others',
  (name) => {
    const policy = objectPolicies.find(({ suffix }) => suffix === name);
    const installation = { name: 'a', namespace: 'a', operatorUser: 'a', gatewayUser: 'a' };
    const spec = policy?.spec({ ...installation, breakGlassGroup: 'a', labels: {} });
    const changed = spec?.variables?.find((variable) => variable.name === 'changed')?.expression ?? '';
    const named = [...changed.matchAll(/\? \['(\w+)'\]/g)].map(([, field]) => field);
    const replacing = gpuInstanceChanges().filter(
      ({ effect }) => effect === 'replaces the machine; its disk is lost',
    );
    expect(named.toSorted()).toEqual(replacing.map(({ field }) => field).toSorted());
  },
);
