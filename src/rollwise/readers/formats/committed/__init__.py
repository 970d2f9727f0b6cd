"""Result files of benchmarks and evaluations, as people commit them; one file a format."""
