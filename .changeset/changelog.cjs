// Writes the change logs: what the changesets say, and nothing of dependencies, since all packages share one version.
module.exports = {
  async getReleaseLine({ summary }) {
    return `- ${summary.trim().replaceAll('\n', '\n  ')}\n`;
  },
  async getDependencyReleaseLine() {
    return '';
  },
};
