import process from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT } from './command-error.ts';
import { nodeProblem } from './node-version.ts';

// Importing it is what it is for: whatever is imported behind it may need what an old Node.js does not have.
const problem = nodeProblem(process.versions.node, packageJson.engines.node);
if (problem !== undefined) {
  process.stderr.write(problem);
  process.exit(EXIT.usage);
}
