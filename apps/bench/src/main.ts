import { printUncaughtErrors } from '../../../scripts/backends/errors';
import { runCommandLine } from './command-line/command-line';
import { processOutlet } from './command-line/outlet';

printUncaughtErrors();
// `bench | head` closes the pipe early: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await runCommandLine(process.argv.slice(2), processOutlet(process));
