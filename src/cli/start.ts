import { catalog } from './catalog.ts';
import { runProcess } from './run-process.ts';

await runProcess(catalog);
