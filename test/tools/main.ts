/** `node test/tools/main.ts`: builds the tools that integration tests use, with progress. */
import { goTool, HELM } from './go-tool.ts';

for (const tool of [HELM]) process.stdout.write(`${await goTool(tool)}\n`);
