import { expect, test } from 'vitest';
import { nodeProblem } from './node-version.ts';

test.each(['22.22.0', '22.22.1', '22.100.0', '24.0.0', '100.1.0'])(
  'Node.js %s will do for >=22.22',
  (found) => {
    expect(nodeProblem(found, '>=22.22')).toBeUndefined();
  },
);

test.each(['20.20.2', '22.21.9', '22.3.0', '9.0.0'])(
  'Node.js %s is too old for >=22.22, and both are named',
  (found) => {
    const said = nodeProblem(found, '>=22.22');
    expect(said).toContain(`Error: gpu-rent needs Node.js 22.22 or newer, and this is Node.js ${found}.`);
    expect(said).toContain('What to do: ');
  },
);
