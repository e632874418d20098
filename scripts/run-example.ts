// Runs an example by its name: `npx pnpm first-look`. An error is printed without the source of TensorFlow.js.
import { printUncaughtErrors } from './backends/errors';

printUncaughtErrors();
await import(`../examples/${process.argv[2]}.ts`);
