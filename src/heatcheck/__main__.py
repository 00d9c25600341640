from heatcheck.cli import main

main()
