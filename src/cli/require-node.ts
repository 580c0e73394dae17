import process from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT } from './command-error.ts';
import { nodeProblem } from './node-version.ts';

// Imported for its effect, before modules that need features which an old Node.js lacks.
const problem = nodeProblem(process.versions.node, packageJson.engines.node);
if (problem !== undefined) {
  process.stderr.write(problem);
  process.exit(EXIT.usage);
}
